"""Payloads of events that are about no message: domains and calendars.

Owns: their shape, with synthetic values where none are given.
May not: sign, send, or build anything invalid unless a difference says so.
"""

from collections.abc import Mapping
from typing import Any, Final

from ops.standin.payload_parts import AT, EVENT_ID, INBOX_ID, Payload, differing, event

_MESSAGE_IDS: Final = frozenset({"inbox_id", "message_id", "thread_id"})
_CALENDAR: Final[Mapping[str, Any]] = {
    "event_id": "cal_1",
    "kind": "single",
    "title": "Call",
    "status": "confirmed",
    "all_day": False,
    "start": "2026-12-01T10:00:00",
    "end": "2026-12-01T10:30:00",
    "timezone": "UTC",
    "duration_mode": "exact",
    "duration_value": 1_800_000,
    "start_at": "2026-12-01T10:00:00Z",
    "end_at": "2026-12-01T10:30:00Z",
    "attendee_count": 0,
    "uid": "cal_1@x.example",
    "sequence": 0,
    "source": "api",
}


def domain_verified(
    *, event_id: str = EVENT_ID, timestamp: str = AT, **differences: Any
) -> Payload:
    """A domain of ours can send. It has neither inbox nor message."""
    domain = {
        "domain_id": "x.example",
        "domain": "x.example",
        "status": "VERIFIED",
        "feedback_enabled": True,
        "subdomains_enabled": False,
        "tracking_enabled": False,
        "records": [],
        "updated_at": timestamp,
        "created_at": timestamp,
    }
    ours = {name: value for name, value in differences.items() if name not in _MESSAGE_IDS}
    return event("domain.verified", event_id, domain=differing(domain, ours))


def calendar_event(
    change: str = "created",
    *,
    event_id: str = EVENT_ID,
    inbox_id: str = INBOX_ID,
    timestamp: str = AT,
    **differences: Any,
) -> Payload:
    """A calendar event was created, updated, deleted, responded (to), or is starting or ending."""
    ours = {name: value for name, value in differences.items() if name not in _MESSAGE_IDS}
    calendar = differing({**_CALENDAR, "created_at": timestamp, "updated_at": timestamp}, ours)
    payload = event(
        f"calendar.event.{change}", event_id, inbox_id=inbox_id, calendar_event=calendar
    )
    if change in {"starting", "ending"}:
        payload["scheduled_at"] = calendar["start_at" if change == "starting" else "end_at"]
    return payload
