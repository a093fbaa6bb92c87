"""Valid AgentMail webhook payloads, one builder an event type.

Owns: the shape of each payload, with synthetic values where none are given.
May not: sign, send, or build anything invalid unless a difference says so.

Every builder takes event_id, inbox_id, message_id, thread_id and timestamp by keyword, and any
other member of the event's main object as a difference. `ABSENT` leaves a member out; `sender`
sets `from`, which Python reserves.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

import msgspec

from ops.standin.other_payloads import calendar_event, domain_verified
from ops.standin.payload_parts import (
    ABSENT,
    AT,
    CUSTOMER,
    EVENT_ID,
    INBOX_ID,
    RECEIVED_ID,
    THREAD_ID,
    Payload,
    differing,
    event,
    fact,
)

__all__ = ["ABSENT", "BUILDERS", "Payload", "calendar_event", "domain_verified", "to_body"]


def to_body(payload: Payload) -> bytes:
    """The payload as the bytes that are signed and sent."""
    return msgspec.json.encode(payload)


def message_received(
    *,
    event_id: str = EVENT_ID,
    inbox_id: str = INBOX_ID,
    message_id: str = RECEIVED_ID,
    thread_id: str = THREAD_ID,
    timestamp: str = AT,
    **differences: Any,
) -> Payload:
    """A customer's mail came in. The thread object says what the message alone implies."""
    given = differences.get("text", "Hello")
    text = given if isinstance(given, str) else ""
    message = differing(
        {
            "inbox_id": inbox_id,
            "thread_id": thread_id,
            "message_id": message_id,
            "labels": ["received", "unread"],
            "timestamp": timestamp,
            "from": CUSTOMER,
            "to": [inbox_id],
            "subject": "Hi",
            "preview": text[:100],
            "text": text,
            "extracted_text": text,
            "headers": {},
            "size": len(text.encode("utf-8", "surrogatepass")),
            "updated_at": timestamp,
            "created_at": timestamp,
        },
        differences,
    )
    return event("message.received", event_id, message=message, thread=_thread_of(message))


def message_received_spam(**fields: Any) -> Payload:
    """Mail that the provider took for spam. It comes instead of message.received."""
    return _received_as("spam", fields)


def message_received_blocked(**fields: Any) -> Payload:
    """Mail from a sender whom the customer blocked."""
    return _received_as("blocked", fields)


def message_received_unauthenticated(**fields: Any) -> Payload:
    """Mail without authentication results."""
    return _received_as("unauthenticated", fields)


def message_security_completed(**fields: Any) -> Payload:
    """A scan of a received message is complete."""
    return _security("completed", {"agent_armor": _scan("clear")}, fields)


def message_security_review(**fields: Any) -> Payload:
    """A scan held a received message for a person."""
    return _security("review", {"agent_armor": _scan("review")}, fields)


def message_security_override(**fields: Any) -> Payload:
    """A person released a held message."""
    release = {
        "override_id": fields.get("event_id", EVENT_ID),
        "actor": {"kind": "console"},
        "reason": "known sender",
        "original_verdict": "review",
        "released_at": fields.get("timestamp", AT),
    }
    return _security("override", {"manual_override": release}, fields)


def message_sent(**fields: Any) -> Payload:
    """Our mail left the provider."""
    return fact("message.sent", "send", members={"recipients": ["ann@y.example"]}, fields=fields)


def message_delivered(**fields: Any) -> Payload:
    """Our mail reached the recipient's server."""
    return fact(
        "message.delivered", "delivery", members={"recipients": ["ann@y.example"]}, fields=fields
    )


def message_bounced(**fields: Any) -> Payload:
    """Our mail came back."""
    members = {
        "type": "Permanent",
        "sub_type": "General",
        "recipients": [{"address": "ann@y.example", "status": "bounced"}],
    }
    return fact("message.bounced", "bounce", members=members, fields=fields)


def message_complained(**fields: Any) -> Payload:
    """A recipient called our mail spam."""
    members = {"type": "abuse", "sub_type": "", "recipients": ["ann@y.example"]}
    return fact("message.complained", "complaint", members=members, fields=fields)


def message_rejected(**fields: Any) -> Payload:
    """The provider would not send our mail. It names no recipients."""
    return fact("message.rejected", "reject", members={"reason": "Bad content"}, fields=fields)


def message_opened(**fields: Any) -> Payload:
    """A recipient opened our mail."""
    return fact("message.opened", "open", members={}, fields=fields)


def _thread_of(message: Payload) -> Payload:
    members = {
        "inbox_id": message.get("inbox_id"),
        "thread_id": message.get("thread_id"),
        "labels": ["received"],
        "timestamp": message.get("timestamp"),
        "received_timestamp": message.get("timestamp"),
        "senders": [message.get("from")],
        "recipients": message.get("to"),
        "subject": message.get("subject"),
        "preview": message.get("preview"),
        "last_message_id": message.get("message_id"),
        "message_count": 1,
        "size": message.get("size"),
        "updated_at": message.get("updated_at"),
        "created_at": message.get("created_at"),
    }
    return {name: value for name, value in members.items() if value is not None}


def _received_as(label: str, fields: Mapping[str, Any]) -> Payload:
    payload = message_received(**{"labels": ["received", label], **fields})
    return {**payload, "event_type": f"message.received.{label}"}


def _security(result: str, members: Mapping[str, Any], fields: Mapping[str, Any]) -> Payload:
    given = {name: value for name, value in fields.items() if name not in {"event_id", "timestamp"}}
    given.pop("thread_id", None)
    ids = {"organization_id": "org_1", "inbox_id": INBOX_ID, "message_id": RECEIVED_ID}
    return event(
        f"message.security.{result}",
        fields.get("event_id", EVENT_ID),
        message=differing({**ids, **members}, given),
    )


def _scan(verdict: str) -> Payload:
    return {
        "status": "complete",
        "verdict": verdict,
        "reason": "nothing unusual" if verdict == "clear" else "asks for credentials",
        "model": "armor-1",
        "completed_at": AT,
    }


# Every documented event type, and what builds it.
BUILDERS: Final[Mapping[str, Callable[..., Payload]]] = {
    "message.received": message_received,
    "message.received.spam": message_received_spam,
    "message.received.blocked": message_received_blocked,
    "message.received.unauthenticated": message_received_unauthenticated,
    "message.security.completed": message_security_completed,
    "message.security.review": message_security_review,
    "message.security.override": message_security_override,
    "message.sent": message_sent,
    "message.delivered": message_delivered,
    "message.bounced": message_bounced,
    "message.complained": message_complained,
    "message.rejected": message_rejected,
    "message.opened": message_opened,
    "domain.verified": domain_verified,
    **{
        f"calendar.event.{change}": partial(calendar_event, change)
        for change in ("created", "updated", "deleted", "responded", "starting", "ending")
    },
}
