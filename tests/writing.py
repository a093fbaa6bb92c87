"""Writer requests for the tests of WRITE: valid ones; a test states the one difference."""

from typing import Any

from processors.core.turn import Record
from schemas.codec import to_json
from schemas.commands import Said, WriteRequest
from schemas.events import Position, ThreadEvent
from schemas.keys import InboxId, MessageId, ReplyKey, ThreadKey
from schemas.topics import Topic
from tests.thread_events import a_thread_event
from tests.turns import NOW_MS

INBOX = InboxId("desk@example.com")
SECOND = 1_000_000_000
T0 = NOW_MS * 1_000_000


def an_event(**differences: Any) -> ThreadEvent:
    """The mail that is to be answered."""
    fields: dict[str, Any] = {
        "inbox_id": INBOX,
        "message_id": MessageId("m1@example.net"),
        "sender": "ann@example.net",
        "subject": "Opening hours",
        "text": "When do you open?",
    }
    return a_thread_event("evt_1", **fields | differences)


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
