"""The thread as a writer sees it: frozen, oldest message first, our own replies among the rest.

Owns: the order, which message is answered, and that plain text comes before HTML.
May not: trust a word of it. Texts, subjects and senders are a stranger's claims.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

import msgspec

from processors.writers.plain import plain_text
from schemas.commands import Said, WriteRequest
from schemas.events import Position, ThreadEvent
from schemas.keys import InboxId, MessageId, ReplyKey, ThreadKey, effect_key

CUSTOMER: Final = "customer"
US: Final = "us"

_NS_PER_S: Final = 1_000_000_000


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """One message of the thread.

    `is_late`: it came after a later message had been passed on. `is_truncated`: its text was cut.
    """

    role: str  # "customer" or "us"
    text: str
    occurred_at: datetime
    sender: str | None = None
    subject: str | None = None
    message_id: MessageId | None = None
    is_late: bool = False
    is_truncated: bool = False

    @property
    def is_ours(self) -> bool:
        """Whether it is a reply that we sent."""
        return self.role == US


class Thread(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation, and the one message of it that a reply is wanted for.

    `messages` are in the order in which they happened. `message` is the one to answer; mail that
    came meanwhile may stand after it. `is_whole` is false when older messages were left out.
    """

    message: Message
    messages: tuple[Message, ...]
    inbox_id: InboxId
    thread_key: ThreadKey
    message_id: MessageId
    reply_key: ReplyKey
    workspace: str
    is_whole: bool = True

    @property
    def newest(self) -> Message:
        """The last message of the thread."""
        return self.messages[-1]

    def effect_key(self, name: str) -> str:
        """A key for another effect of this message, such as a refund: the same for every call.

        A writer may be called more than once for one message. Give this key to whoever carries
        the effect out, so that a repeat is harmless.
        """
        return effect_key(self.inbox_id, self.message_id, name)


def thread_of(request: WriteRequest) -> Thread:
    """The thread that a request brings, with its message in full."""
    known = next((said for said in request.log if _is_asked(said, request)), None)
    position = _position(request.event) if known is None else known.position
    message = _asked(request.event, request.message_id, is_late=known is not None and known.is_late)
    others = ((said.position, _said(said)) for said in request.log if said is not known)
    return Thread(
        message=message,
        messages=_in_order([*others, (position, message)]),
        inbox_id=request.inbox_id,
        thread_key=request.thread_key,
        message_id=request.message_id,
        reply_key=request.reply_key,
        workspace=request.workspace,
        is_whole=not request.is_log_truncated,
    )


def _is_asked(said: Said, request: WriteRequest) -> bool:
    return said.role == CUSTOMER and said.message_id == request.message_id


def _in_order(placed: Iterable[tuple[Position, Message]]) -> tuple[Message, ...]:
    return tuple(message for _, message in sorted(placed, key=lambda each: each[0]))


def _position(event: ThreadEvent) -> Position:
    return Position(
        occurred_at_ns=event.occurred_at_ns,
        sequence=-1 if event.sequence is None else event.sequence,
        tie=event.message_id or event.event_id,
    )


def _asked(event: ThreadEvent, message_id: MessageId, *, is_late: bool) -> Message:
    return Message(
        role=CUSTOMER,
        text=plain_text(event.text, event.html),
        occurred_at=_moment(event.occurred_at_ns),
        sender=event.sender,
        subject=event.subject,
        message_id=message_id,
        is_late=is_late,
        is_truncated=event.is_truncated,
    )


def _said(said: Said) -> Message:
    return Message(
        role=said.role,
        text=said.text or "",
        occurred_at=_moment(said.position.occurred_at_ns),
        sender=said.sender,
        subject=said.subject,
        message_id=said.message_id,
        is_late=said.is_late,
        is_truncated=said.is_truncated,
    )


def _moment(occurred_at_ns: int) -> datetime:
    seconds, nanoseconds = divmod(occurred_at_ns, _NS_PER_S)
    return datetime.fromtimestamp(seconds, UTC).replace(microsecond=nanoseconds // 1000)
