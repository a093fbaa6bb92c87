"""A mail as AgentMail shows it: whole, as a list item, and as part of a thread.

Owns: the fields of Message, MessageItem and ThreadItem, and how one is drawn from another.
May not: store anything, or know a request.
"""

from collections.abc import Sequence
from datetime import datetime
from itertools import chain
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

# The list leaves these out; a body is read with a call for the one message.
NOT_IN_ITEMS: Final = ("text", "html", "extracted_text", "extracted_html", "reply_to")
PREVIEW_CHARACTERS: Final = 100

Instant = Annotated[datetime, Meta(tz=True)]
Id = Annotated[str, Meta(min_length=1, max_length=2048)]


class Attachment(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a message says of a file that came with it. The bytes are elsewhere."""

    attachment_id: str
    size: int
    filename: str | None = None
    content_type: str | None = None
    content_disposition: str | None = None
    content_id: str | None = None


class Message(Struct, frozen=True, kw_only=True, omit_defaults=True, rename={"sender": "from"}):
    """One mail in one inbox. A field that the provider may leave out has a default here."""

    inbox_id: Id
    thread_id: Id
    message_id: Id
    labels: tuple[str, ...]
    timestamp: Instant
    sender: str
    to: tuple[str, ...]
    size: int
    updated_at: Instant
    created_at: Instant
    reply_to: tuple[str, ...] = ()
    cc: tuple[str, ...] = ()
    bcc: tuple[str, ...] = ()
    subject: str | None = None
    preview: str | None = None
    text: str | None = None
    html: str | None = None
    extracted_text: str | None = None
    extracted_html: str | None = None
    attachments: tuple[Attachment, ...] = ()
    in_reply_to: str | None = None
    references: tuple[str, ...] = ()
    headers: dict[str, str] | None = None
    calendar_event_id: str | None = None
    agent_armor: dict[str, Any] | None = None


class ThreadItem(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a thread says of itself, without its messages."""

    inbox_id: str
    thread_id: str
    labels: tuple[str, ...]
    timestamp: datetime
    senders: tuple[str, ...]
    recipients: tuple[str, ...]
    last_message_id: str
    message_count: int
    size: int
    updated_at: datetime
    created_at: datetime
    received_timestamp: datetime | None = None
    sent_timestamp: datetime | None = None
    subject: str | None = None
    preview: str | None = None
    attachments: tuple[Attachment, ...] = ()


def as_json(message: Message | ThreadItem) -> dict[str, Any]:
    """The fields by their names on the wire."""
    fields: dict[str, Any] = msgspec.to_builtins(message)
    return fields


def item_of(message: Message) -> dict[str, Any]:
    """The message as a list shows it: without bodies and without reply_to."""
    return {name: value for name, value in as_json(message).items() if name not in NOT_IN_ITEMS}


def thread_item(messages: Sequence[Message]) -> ThreadItem:
    """The thread of these messages, which are all of it, oldest first, at least one."""
    first, last = messages[0], messages[-1]
    return ThreadItem(
        inbox_id=first.inbox_id,
        thread_id=first.thread_id,
        labels=_distinct(message.labels for message in messages),
        timestamp=last.timestamp,
        senders=_distinct((message.sender,) for message in messages),
        recipients=_distinct((*message.to, *message.cc) for message in messages),
        last_message_id=last.message_id,
        message_count=len(messages),
        size=sum(message.size for message in messages),
        updated_at=max(message.updated_at for message in messages),
        created_at=min(message.created_at for message in messages),
        received_timestamp=_latest(messages, "received"),
        sent_timestamp=_latest(messages, "sent"),
        subject=first.subject,
        preview=last.preview,
        attachments=tuple(chain.from_iterable(message.attachments for message in messages)),
    )


def preview_of(text: str | None) -> str | None:
    """The beginning of a text, on one line; None where there is no text."""
    return " ".join(text.split())[:PREVIEW_CHARACTERS] if text else None


def _distinct(groups: Any) -> tuple[str, ...]:
    return tuple(dict.fromkeys(chain.from_iterable(groups)))


def _latest(messages: Sequence[Message], label: str) -> datetime | None:
    stamps = [message.timestamp for message in messages if label in message.labels]
    return stamps[-1] if stamps else None
