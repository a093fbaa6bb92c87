"""AgentMail's webhook bodies: valid ones; a test states the one difference."""

import json
from typing import Any, Final

INBOX: Final = "support@inbox.example"


def a_message(**changes: Any) -> dict[str, Any]:
    """A mail as AgentMail describes it, with these differences."""
    return {
        "inbox_id": INBOX,
        "thread_id": "thd_1",
        "message_id": "<m1@customer.example>",
        "timestamp": "2026-01-05T10:00:00Z",
        "from": "Jane Roe <jane@customer.example>",
        "to": [INBOX],
        "subject": "Question",
        "text": "Hello",
        "headers": {},
        **changes,
    }


def an_event(**changes: Any) -> bytes:
    """A `message.received` in bytes, with these differences."""
    return _body({"event_type": "message.received", "message": a_message(), **changes})


def a_body(event_type: str = "message.received", **members: Any) -> bytes:
    """An event of this type with these members; with a mail where the type speaks of one."""
    if event_type.startswith("message.received"):
        return an_event(event_type=event_type, **members)
    return _body({"event_type": event_type, **members})


def a_mail_body(**members: Any) -> bytes:
    """The body of a received mail with these members in the message."""
    return an_event(message=a_message(**members))


def _body(members: dict[str, Any]) -> bytes:
    event = {"type": "event", "event_id": "evt_1", **members}
    return json.dumps(event, separators=(",", ":")).encode()
