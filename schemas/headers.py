"""Record headers: CloudEvents in binary mode, and our own `onereply-*`.

Owns: the names, and how values become bytes. Source: CloudEvents Kafka binding 1.0.2, 3.2.
May not: copy anything from a request wholesale.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

Headers = tuple[tuple[str, bytes | None], ...]

CE_ID: Final = "ce_id"
CE_SOURCE: Final = "ce_source"
CE_TYPE: Final = "ce_type"
CE_TIME: Final = "ce_time"
CE_SUBJECT: Final = "ce_subject"
CE_DATASCHEMA: Final = "ce_dataschema"
CONTENT_TYPE: Final = "content-type"

RECEIVED_AT: Final = "onereply-received-at-ms"
PROVIDER: Final = "onereply-provider"
PROOF: Final = "onereply-proof"
DELIVERY: Final = "onereply-delivery"
REPLAY: Final = "onereply-replay"
ORIGIN: Final = "onereply-origin"
# Says what a record's value is where it is not the body itself.
BODY: Final = "onereply-body"
BLOB: Final = "blob"
TRACE: Final = "traceparent"

DEAD_TOPIC: Final = "onereply-dead-topic"
DEAD_PARTITION: Final = "onereply-dead-partition"
DEAD_OFFSET: Final = "onereply-dead-offset"
DEAD_STAGE: Final = "onereply-dead-stage"
DEAD_ERROR: Final = "onereply-dead-error"
DEAD_REASON: Final = "onereply-dead-reason"
DEAD_ATTEMPT: Final = "onereply-dead-attempt"
# How long the value was, where it and the record's own headers did not fit.
DEAD_CUT: Final = "onereply-dead-cut"

_FIXED: Final = (("ce_specversion", b"1.0"), (CONTENT_TYPE, b"application/json"))


def envelope(
    ce_type: str, ce_id: str, *, source: str = "", subject: str = "", time: str = ""
) -> Headers:
    """CloudEvents headers for a JSON record."""
    return (
        *_FIXED,
        *attribute(CE_TYPE, ce_type),
        *attribute(CE_ID, ce_id),
        *attribute(CE_SOURCE, source),
        *attribute(CE_SUBJECT, subject),
        *attribute(CE_TIME, time),
    )


def attribute(name: str, value: str) -> Headers:
    """One attribute; none where the value cannot stand in a header: empty, or a control in it."""
    return ((name, value.encode("utf-8", "replace")),) if value and value.isprintable() else ()


def iso_time(occurred_at_ns: int) -> str:
    """RFC 3339, UTC, nanoseconds kept: what `ce_time` carries."""
    seconds, nanoseconds = divmod(occurred_at_ns, 1_000_000_000)
    return f"{_iso_second(seconds)}.{nanoseconds:09d}Z"


# Most records of a batch lie in few seconds; making the text anew took four times as long.
@lru_cache(maxsize=4096)
def _iso_second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()[:19]


def header(headers: Iterable[tuple[str, bytes | None]], name: str) -> str | None:
    """The first value of a header as text, or None where it is missing or not UTF-8."""
    for each, value in headers:
        if each == name:
            try:
                return None if value is None else value.decode()
            except UnicodeDecodeError:
                return None
    return None
