"""What all payload builders share: synthetic values, the envelope, and how a difference is applied.

Owns: ABSENT, the default ids, the envelope of an event.
May not: know an event type.
"""

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

Payload = dict[str, Any]


class _Absent(Struct, frozen=True):
    """The kind of ABSENT."""


# A difference of this value leaves the member out.
ABSENT: Final = _Absent()

INBOX_ID: Final = "help@x.example"
CUSTOMER: Final = "Ann <ann@y.example>"
RECEIVED_ID: Final = "<m1@y.example>"
SENT_ID: Final = "<r1@x.example>"
THREAD_ID: Final = "thd_1"
EVENT_ID: Final = "evt_1"
AT: Final = "2026-11-30T10:00:00.000Z"


def event(event_type: str, event_id: str, /, **objects: Any) -> Payload:
    """The envelope around the objects of one event."""
    return {"type": "event", "event_type": event_type, "event_id": event_id, **objects}


def differing(members: Mapping[str, Any], differences: Mapping[str, Any]) -> Payload:
    """The members, changed by the differences. ABSENT removes one; `sender` sets `from`."""
    renamed = {"from" if name == "sender" else name: each for name, each in differences.items()}
    merged = {**members, **renamed}
    return {name: value for name, value in merged.items() if value is not ABSENT}


def fact(
    event_type: str, name: str, *, members: Mapping[str, Any], fields: Mapping[str, Any]
) -> Payload:
    """An event about a mail of ours: its object holds the four ids and these members."""
    given = dict(fields)
    event_id = given.pop("event_id", EVENT_ID)
    ids = {
        "inbox_id": INBOX_ID,
        "thread_id": THREAD_ID,
        "message_id": SENT_ID,
        "timestamp": AT,
    }
    return event(event_type, event_id, **{name: differing({**ids, **members}, given)})
