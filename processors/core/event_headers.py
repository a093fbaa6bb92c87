"""The headers of what a stage says about an event.

Owns: which of an event's fields stand in them.
May not: know a stage.
"""

from functools import lru_cache
from typing import Final

from schemas.events import ThreadEvent
from schemas.headers import (
    CE_ID,
    CE_SOURCE,
    CE_SUBJECT,
    CE_TIME,
    RECEIVED_AT,
    Headers,
    attribute,
    envelope,
    iso_time,
)

# The CloudEvents type of what is said about an event that was dropped.
DUPLICATE_TYPE: Final = "event.duplicate"


def event_headers(event: ThreadEvent, ce_type: str) -> Headers:
    """CloudEvents headers with the source, the times and the subject of the event."""
    beginning, source = _standing(ce_type, event.source)
    return (
        *beginning,
        *attribute(CE_ID, event.event_id),
        *source,
        *attribute(CE_SUBJECT, event.message_id or ""),
        (CE_TIME, iso_time(event.occurred_at_ns).encode()),
        (RECEIVED_AT, b"%d" % event.received_at_ms),
    )


# There are few types and sources, and each comes again and again.
@lru_cache(maxsize=256)
def _standing(ce_type: str, source: str) -> tuple[Headers, Headers]:
    return envelope(ce_type, ""), attribute(CE_SOURCE, f"/sources/{source}")
