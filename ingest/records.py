"""The record of an accepted delivery, as it goes to `inbound-events`.

Owns: which headers it carries, and which of them come from the request.
May not: change a byte of the body, or copy any other request header.
"""

import re
import secrets
from typing import Final

import msgspec
from msgspec.structs import replace

from ingest.keys import Named
from schemas import headers as names
from schemas.headers import Headers, envelope

# W3C Trace Context 2.2. Version ff is forbidden, and all-zero ids mean none.
_TRACE: Final = re.compile(
    rb"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}"
)


class Inbound(msgspec.Struct, frozen=True, kw_only=True):
    """Key, value and headers of one record."""

    key: bytes
    value: bytes
    headers: Headers


class Circumstances(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a delivery beside its body: whose it is, when it came, and its trace."""

    source: str
    provider: str
    proves: str
    received_at_ms: int
    delivery_id: str
    traceparent: bytes
    content_type: bytes = b"application/json"


def inbound(named: Named, body: bytes, *, of: Circumstances) -> Inbound:
    """The record for this body. The same event always gets the same key."""
    return Inbound(
        key=named.key.encode(),
        value=body,
        headers=(
            *_described(
                envelope(
                    named.event_type,
                    named.event_id,
                    source=f"/sources/{of.source}",
                    subject=named.inbox_id or "",
                ),
                of.content_type,
            ),
            (names.RECEIVED_AT, b"%d" % of.received_at_ms),
            (names.PROVIDER, of.provider.encode()),
            (names.PROOF, of.proves.encode()),
            (names.TRACE, trace(of.traceparent)),
            *_delivery(of.delivery_id),
        ),
    )


def inbound_blob(named: Named, reference: bytes, *, of: Circumstances) -> Inbound:
    """The record for a body that lies in the store, under the same key as if it were here."""
    record = inbound(named, reference, of=of)
    return replace(record, headers=(*record.headers, (names.BODY, names.BLOB.encode())))


def _described(headers: Headers, content_type: bytes) -> Headers:
    """The headers with the body's own content type: a form's cannot be read without it."""
    return tuple(
        (name, content_type if name == names.CONTENT_TYPE else value) for name, value in headers
    )


def trace(given: bytes) -> bytes:
    """The trace context that came, if it is one; else a new one, not sampled."""
    if _TRACE.fullmatch(given):
        return given
    return f"00-{secrets.token_hex(16)}-{secrets.token_hex(8)}-00".encode()


def _delivery(delivery_id: str) -> Headers:
    if delivery_id.isascii() and delivery_id.isprintable():
        return ((names.DELIVERY, delivery_id.encode()),)
    return ()
