"""The names by which one thing is known for ever: events, messages, replies, effects.

Owns: every derived key, and why two different things cannot share one.
May not: judge an id by grammar, decode it, or change anything but outer space and brackets.
"""

import re
from hashlib import sha256
from typing import Final, NewType

from schemas.errors import DecodeError

SourceName = NewType("SourceName", str)
EventId = NewType("EventId", str)
EventKey = NewType("EventKey", str)
InboxId = NewType("InboxId", str)
MessageId = NewType("MessageId", str)  # in its comparison form, see canonical_id
ThreadKey = NewType("ThreadKey", str)
ReplyKey = NewType("ReplyKey", str)

MAX_EVENT_ID_BYTES: Final = 256
MAX_SOURCE_BYTES: Final = 64
# Message ids and inbox ids: 2 kB is twice the longest header line that RFC 5322 2.1.1 allows.
MAX_ID_BYTES: Final = 2048

_FOLD: Final = re.compile(r"\r?\n(?=[ \t])")


def framed(*parts: str) -> bytes:
    """Join parts so that no two different tuples give the same bytes: each carries its length."""
    joined = b""
    for part in parts:
        raw = part.encode("utf-8", "surrogatepass")
        joined += len(raw).to_bytes(4, "big") + raw
    return joined


def canonical_id(raw: str) -> str | None:
    """The form in which ids are compared: unfolded, trimmed, without one pair of brackets.

    None when nothing is left. Nothing else is decoded or judged: ids are opaque (RFC 5322 3.6.4
    says what they should look like; real mail does not follow it).
    """
    unfolded = (_FOLD.sub("", raw) if "\n" in raw else raw).strip()
    if unfolded[:1] == "<" and unfolded[-1] == ">":
        unfolded = unfolded[1:-1].strip()
    return unfolded or None


def event_key(source: SourceName, event_id: EventId) -> EventKey:
    """Name one event at the door.

    A source name holds no slash (settings refuse it), so the first slash ends it and no two pairs
    share a key. Raises DecodeError for an id that is empty, blank or longer than 256 bytes.
    """
    if not event_id.strip():
        raise DecodeError("event id is empty")
    if len(event_id.encode("utf-8", "surrogatepass")) > MAX_EVENT_ID_BYTES:
        raise DecodeError(f"event id is longer than {MAX_EVENT_ID_BYTES} bytes")
    return EventKey(f"{source}/{event_id}")


def conflict_key(key: EventKey, inbox_id: InboxId, message_id: MessageId) -> EventKey:
    """The key under which an event goes on whose event key another message already holds.

    Both halves of the message identity are in it: the same mail in a third inbox is a third event.
    """
    digest = sha256(framed(key, inbox_id, message_id)).hexdigest()
    return EventKey(f"{key.partition('/')[0]}/conflict-{digest}")


def fetched_key(source: SourceName, inbox_id: InboxId, message_id: MessageId) -> EventKey:
    """The key of a mail that was read from the provider after it was announced."""
    return EventKey(f"fetch:{source}/{sha256(framed(inbox_id, message_id)).hexdigest()}")


def derived_message_id(key: EventKey) -> MessageId:
    """A stand-in for a mail without a usable message id. Holds a space: no provider's id does."""
    return MessageId("derived " + sha256(framed(key)).hexdigest())


def reply_key(inbox_id: InboxId, message_id: MessageId) -> ReplyKey:
    """Name the one reply to a message; also the provider's Idempotency-Key.

    70 characters of the alphabet that AgentMail, Resend and Bird share (providers.md section 0).
    Both ids are length-framed, so ("a", "bc") and ("ab", "c") differ.
    """
    return ReplyKey("reply-" + sha256(framed(inbox_id, message_id)).hexdigest())


def effect_key(inbox_id: InboxId, message_id: MessageId, name: str) -> str:
    """Name any other effect of a message (a refund, a ticket), so that a repeat is harmless."""
    return f"{name}-" + sha256(framed(inbox_id, message_id, name)).hexdigest()
