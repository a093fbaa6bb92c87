"""The headers of what a stage says about an event.

Owns: which of an event's fields stand in them.
May not: know a stage.
"""

from typing import Final

from schemas.events import ThreadEvent
from schemas.headers import RECEIVED_AT, Headers, envelope, iso_time

# The CloudEvents type of what is said about an event that was dropped.
DUPLICATE_TYPE: Final = "event.duplicate"


def event_headers(event: ThreadEvent, ce_type: str) -> Headers:
    """CloudEvents headers with the source, the times and the subject of the event."""
    attributes = envelope(
        ce_type,
        event.event_id,
        source=f"/sources/{event.source}",
        subject=event.message_id or "",
        time=iso_time(event.occurred_at_ns),
    )
    return (*attributes, (RECEIVED_AT, b"%d" % event.received_at_ms))
