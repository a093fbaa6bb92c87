"""Writer requests for the tests of WRITE: valid ones; a test states the one difference."""

from typing import Any

from processors.core.turn import Record
from schemas.codec import to_json
from schemas.commands import Said, WriteRequest
from schemas.events import Position, ThreadEvent
from schemas.keys import EventId, EventKey, InboxId, MessageId, ReplyKey, SourceName, ThreadKey
from schemas.topics import Topic

INBOX = InboxId("desk@example.com")
SECOND = 1_000_000_000
T0 = 1_767_607_200 * SECOND  # 2026-01-05T10:00:00Z


def an_event(**differences: Any) -> ThreadEvent:
    """The mail that is to be answered."""
    fields: dict[str, Any] = {
        "kind": "message.received",
        "event_key": EventKey("agentmail/evt_1"),
        "event_id": EventId("evt_1"),
        "source": SourceName("agentmail"),
        "provider": "agentmail",
        "workspace": "example",
        "inbox_id": INBOX,
        "occurred_at_ns": T0,
        "received_at_ms": T0 // 1_000_000,
        "message_id": MessageId("m1@example.net"),
        "sender": "ann@example.net",
        "subject": "Opening hours",
        "text": "When do you open?",
    }
    return ThreadEvent(**fields | differences)


def a_request(**differences: Any) -> WriteRequest:
    """An ask for the reply to that mail."""
    fields: dict[str, Any] = {
        "reply_key": ReplyKey("reply-1"),
        "ask_number": 1,
        "inbox_id": INBOX,
        "thread_key": ThreadKey("thread-1"),
        "message_id": MessageId("m1@example.net"),
        "workspace": "example",
        "event": an_event(),
    }
    return WriteRequest(**fields | differences)


def said(text: str, *, after_s: int = 0, role: str = "customer", **differences: Any) -> Said:
    """A message of the thread, so long after (or before) the one that is to be answered."""
    position = Position(occurred_at_ns=T0 + after_s * SECOND, tie=text)
    return Said(role=role, position=position, text=text, **differences)


def a_record(value: bytes | None, **differences: Any) -> Record:
    """A record of `writer-requests`."""
    fields: dict[str, Any] = {
        "topic": Topic.WRITER_REQUESTS,
        "partition": 2,
        "offset": 41,
        "key": b"reply-1",
        "value": value,
        "headers": (("traceparent", b"00-1"), ("x-odd", b"\xff")),
        "timestamp_ms": T0 // 1_000_000,
    }
    return Record(**fields | differences)


def request_bytes(**differences: Any) -> bytes:
    """An ask as it lies on its topic."""
    return to_json(a_request(**differences))
