"""A customer's mail comes in: the control side plays the customer.

Owns: what is filled in where the mail says nothing, and which thread it joins.
May not: store one message of an inbox twice.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

from ops.standin.compose import fresh_message_id, fresh_thread_id
from ops.standin.deliver import Policy, delivery_id_of
from ops.standin.entries import MailReceived
from ops.standin.events import event_id_of, tell_received
from ops.standin.messages import Message, as_json, preview_of
from ops.standin.refusals import ApiError
from ops.standin.standin import Standin
from ops.standin.state import State

MAX_BATCH: Final = 10_000


class InboundMail(Struct, frozen=True, kw_only=True):
    """One mail: the members of a Message, of which only inbox_id is required.

    Members of a whole webhook payload that are not named here are ignored, so one can be given.
    """

    message: dict[str, Any]
    event_type: str = "message.received"
    event_id: str | None = None


class InboundBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Mails to put into their inboxes, and how often to tell the webhooks of each."""

    mails: Annotated[tuple[InboundMail, ...], Meta(max_length=MAX_BATCH)]
    webhooks: Policy = Policy.NONE


class Arrived(Struct, frozen=True, kw_only=True):
    """A mail that lies in its inbox, and the event that tells of it."""

    inbox_id: str
    message_id: str
    thread_id: str
    event_id: str
    delivery_id: str


def receive(standin: Standin, body: InboundBody) -> list[Arrived]:
    """Store the mails in their order. The same mail again is stored once and told again.

    Raises ApiError 400 for a mail that is none and 409 for other content under a known id;
    the mails before it are stored.
    """
    arrived = []
    for mail in body.mails:
        message = _stored(standin.state, mail.message)
        event_id = mail.event_id or event_id_of(mail.event_type, message)
        if body.webhooks is not Policy.NONE:
            tell_received(
                standin,
                message,
                event_type=mail.event_type,
                event_id=event_id,
                policy=body.webhooks,
            )
        arrived.append(
            Arrived(
                inbox_id=message.inbox_id,
                message_id=message.message_id,
                thread_id=message.thread_id,
                event_id=event_id,
                delivery_id=delivery_id_of(event_id),
            )
        )
    return arrived


def _stored(state: State, given: Mapping[str, Any]) -> Message:
    inbox_id, message_id = given.get("inbox_id"), given.get("message_id")
    if not isinstance(inbox_id, str) or not inbox_id:
        raise ApiError(400, "message.inbox_id is missing")
    known = state.mailbox.message(inbox_id, message_id) if isinstance(message_id, str) else None
    if known is not None:
        if _converted({**as_json(known), **given}) != known:
            raise ApiError(409, "the inbox holds another message under this id")
        return known
    message = _converted({**_filled(state, inbox_id, given), **given})
    state.mailbox.check_room(message)
    state.record(MailReceived(message))
    return message


def _filled(state: State, inbox_id: str, given: Mapping[str, Any]) -> dict[str, Any]:
    now: datetime = state.clock.now()
    text = given.get("text")
    text = text if isinstance(text, str) else ""
    references = given.get("references")
    parents = (
        given.get("in_reply_to"),
        *(reversed(references) if isinstance(references, list) else ()),
    )
    named = [parent for parent in parents if isinstance(parent, str)]
    filled = {
        "message_id": fresh_message_id("customer@customer.example"),
        "thread_id": state.mailbox.thread_of(inbox_id, named) or fresh_thread_id(),
        "labels": ["received", "unread"],
        "timestamp": now,
        "from": "Customer <customer@customer.example>",
        "to": [inbox_id],
        "size": len(text.encode("utf-8", "surrogatepass")),
        "updated_at": now,
        "created_at": now,
    }
    return filled | ({"preview": preview_of(text)} if text else {})


def _converted(members: Mapping[str, Any]) -> Message:
    try:
        return msgspec.convert(members, Message)
    except msgspec.ValidationError as error:
        raise ApiError(400, f"message: {error}") from error
