"""AgentMail's payloads as common events, and its answers as payloads.

Only the event type and, for mail, the inbox are required. Documentation and SDK disagree on
shapes (from/from_, text, object or list), so every field is taken as it comes.

Owns: AgentMail's field names, event types and size cap.
May not: do I/O, or answer for how ids, times and headers are read (core does).
"""

from typing import Any, Final

import msgspec

from processors.core.bodies import object_of
from processors.core.intake import Intake
from processors.core.normalise import (
    Headers,
    addresses_of,
    content_hash_of,
    headers_of,
    id_of,
    parents_of,
    signals_of,
    text_of,
    thread_key_of,
    threading_of,
    whole_of,
)
from processors.core.times import instant_of
from processors.providers.agentmail_shapes import Fact, Message, decoded
from schemas.errors import DecodeError, Refused
from schemas.events import Attachment, Kind, ThreadEvent, Verdicts
from schemas.keys import InboxId, MessageId, ThreadKey, derived_message_id

# Above it `text` and `html` are left out of a payload. The smaller of two readings of "1 MB": a
# mail between them is read once more than needed, and none is taken for complete that is not.
PAYLOAD_CAP_BYTES: Final = 1_000_000

_MAIL: Final = {
    "message.received": Kind.RECEIVED,
    "message.received.spam": Kind.RECEIVED_SPAM,
    "message.received.blocked": Kind.RECEIVED_BLOCKED,
    "message.received.unauthenticated": Kind.RECEIVED_UNAUTHENTICATED,
}
# Each with the member that holds its facts.
_FACTS: Final = {
    "message.sent": (Kind.SENT, "send"),
    "message.delivered": (Kind.DELIVERED, "delivery"),
    "message.bounced": (Kind.BOUNCED, "bounce"),
    "message.complained": (Kind.COMPLAINED, "complaint"),
    "message.rejected": (Kind.REJECTED, "reject"),
    "message.opened": (Kind.OPENED, "open"),
}


def read(value: bytes, intake: Intake) -> ThreadEvent:
    """The event in this body. Raises Refused where there is none, or no inbox for a mail."""
    payload = decoded(value)
    kind = payload.event_type
    if not isinstance(kind, str) or not kind.strip():
        raise Refused("no event type")
    if kind in _MAIL and isinstance(payload.message, Message):
        return _mail(payload.message, payload.thread, intake, kind=_MAIL[kind])
    fact_kind, member = _FACTS.get(kind, (Kind.OTHER, ""))
    fact = getattr(payload, member, None)
    if isinstance(fact, Fact) and id_of(fact.inbox_id) is not None:
        return _fact(fact, intake, kind=fact_kind, detail=_detail(fact))
    return _other(value, intake, event_type=kind)


def payload_of(answer: bytes, *, event_id: str, inbox_id: InboxId, message_id: MessageId) -> bytes:
    """The answer to "get message" as the body that a webhook for it would have had.

    Raises DecodeError where the answer is not that message.
    """
    body = b'{"type":"event","event_type":"message.received","event_id":%s,"message":%s}' % (
        msgspec.json.encode(event_id),
        answer,
    )
    try:
        # Alone first: what stands after the object would otherwise become part of the event.
        found = msgspec.convert(object_of(answer), Message)
    except Refused as error:
        raise DecodeError(f"answer: {error}") from error
    if id_of(found.inbox_id) != inbox_id or id_of(found.message_id) != message_id:
        raise DecodeError("answer is another message")
    return body


class _Names(msgspec.Struct, frozen=True, gc=False):
    """What a mail is called, and what it names."""

    inbox_id: InboxId
    own: MessageId
    is_derived: bool
    thread_key: ThreadKey
    thread_id: str | None
    parents: tuple[MessageId, ...]


class _Content(msgspec.Struct, frozen=True, gc=False):
    """What a reader of a mail sees, how complete that is, and what was found in it."""

    kind: str
    sender: str | None
    subject: str | None
    text: str | None
    html: str | None
    content_hash: str | None
    is_truncated: bool
    labels: tuple[str, ...]
    verdicts: Verdicts


def _names(message: Message, thread: Any, intake: Intake, *, headers: Headers | None) -> _Names:
    inbox_id = id_of(message.inbox_id)
    if inbox_id is None:
        raise Refused("no inbox id")
    found = id_of(message.message_id)
    own = derived_message_id(intake.event_key) if found is None else MessageId(found)
    answered, references = threading_of(message.in_reply_to, message.references, headers)
    spelling = message.thread_id
    thread_id = id_of(spelling)
    if thread_id is None and isinstance(thread, Fact):
        spelling = thread.thread_id
        thread_id = id_of(spelling)
    return _Names(
        InboxId(inbox_id),
        own,
        found is None,
        thread_key_of(thread_id, own, answered=answered, references=references),
        None if thread_id is None else spelling,
        parents_of(own, answered=answered, references=references),
    )


def _content(message: Message, *, kind: str, is_read_back: bool) -> _Content:
    subject, text, html = text_of(message.subject), text_of(message.text), text_of(message.html)
    senders = addresses_of(message.from_) or addresses_of(message.from_underscore)
    sender = ", ".join(senders) or None
    is_truncated = _is_truncated(message) and not is_read_back
    labels = _texts(message.labels)
    return _Content(
        Kind.ANNOUNCED if is_truncated and kind == Kind.RECEIVED else kind,
        sender,
        subject,
        text,
        html,
        None if is_truncated else content_hash_of(subject, text, html, sender),
        is_truncated,
        labels,
        _verdicts(kind, labels),
    )


def _mail(message: Message, thread: Any, intake: Intake, *, kind: str) -> ThreadEvent:
    headers = headers_of(message.headers)
    names = _names(message, thread, intake, headers=headers)
    content = _content(message, kind=kind, is_read_back=intake.is_read_back)
    time = instant_of(message.timestamp, received_at_ms=intake.received_at_ms)
    return ThreadEvent(
        event_key=intake.event_key,
        event_id=intake.event_id,
        source=intake.source,
        provider=intake.provider,
        workspace=intake.workspace,
        received_at_ms=intake.received_at_ms,
        origin=intake.origin,
        kind=content.kind,
        inbox_id=names.inbox_id,
        occurred_at_ns=time.ns,
        time_mark=time.mark,
        thread_key=names.thread_key,
        message_id=names.own,
        provider_message_id=None if names.is_derived else message.message_id,
        provider_thread_id=names.thread_id,
        is_derived_id=names.is_derived,
        parents=names.parents,
        is_opening=isinstance(thread, Fact) and whole_of(thread.message_count) == 1,
        sender=content.sender,
        reply_to=addresses_of(message.reply_to),
        recipient=names.inbox_id,
        to=addresses_of(message.to),
        cc=addresses_of(message.cc),
        subject=content.subject,
        text=content.text,
        html=content.html,
        signals=signals_of(headers),
        labels=content.labels,
        verdicts=content.verdicts,
        attachments=_attachments(message.attachments),
        content_hash=content.content_hash,
        is_truncated=content.is_truncated,
    )


def _is_truncated(message: Message) -> bool:
    is_empty = message.text is None and message.html is None
    return is_empty and (whole_of(message.size) or 0) > PAYLOAD_CAP_BYTES


def _verdicts(kind: str, labels: tuple[str, ...]) -> Verdicts:
    """Spam comes under a type of its own, so plain mail has passed that test.

    Mail that fails SPF, DKIM or DMARC never comes; what comes has passed or had nothing to show.
    """
    if kind == Kind.RECEIVED_SPAM or "spam" in labels:
        return _SPAM
    return _NOT_SPAM if kind == Kind.RECEIVED else _UNKNOWN


_SPAM: Final = Verdicts(spam="fail")
_NOT_SPAM: Final = Verdicts(spam="pass")
_UNKNOWN: Final = Verdicts()


def _attachments(value: Any) -> tuple[Attachment, ...]:
    if not isinstance(value, list):
        return ()
    return tuple(
        Attachment(
            filename=text_of(each.get("filename")),
            content_type=text_of(each.get("content_type")),
            size_bytes=whole_of(each.get("size")),
            attachment_id=text_of(each.get("attachment_id")),
        )
        for each in value
        if isinstance(each, dict)
    )


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(each for each in value if isinstance(each, str)) if isinstance(value, list) else ()


def _fact(fact: Fact, intake: Intake, *, kind: str, detail: str | None) -> ThreadEvent:
    """An event that is no mail."""
    time = instant_of(fact.timestamp, received_at_ms=intake.received_at_ms)
    thread_id, message_id = id_of(fact.thread_id), id_of(fact.message_id)
    return ThreadEvent(
        **intake.fields(),
        kind=kind,
        inbox_id=_inbox(fact, intake),
        occurred_at_ns=time.ns,
        time_mark=time.mark,
        thread_key=None if thread_id is None else ThreadKey(thread_id),
        message_id=None if message_id is None else MessageId(message_id),
        provider_message_id=None if message_id is None else fact.message_id,
        provider_thread_id=None if thread_id is None else fact.thread_id,
        recipients=addresses_of(fact.recipients),
        detail=detail,
    )


def _inbox(fact: Fact, intake: Intake) -> InboxId:
    found = id_of(fact.inbox_id)
    return intake.no_inbox() if found is None else InboxId(found)


def _detail(fact: Fact) -> str | None:
    said = (each for each in (fact.type, fact.sub_type, fact.reason) if isinstance(each, str))
    return "/".join(said) or None


def _other(value: bytes, intake: Intake, *, event_type: str) -> ThreadEvent:
    """An event of a type that is not known, or whose facts are not where they belong."""
    members = [each for each in object_of(value).values() if isinstance(each, dict)]
    placed = (each for each in members if id_of(each.get("inbox_id")) is not None)
    fact = msgspec.convert(next(placed, {}), Fact)
    return _fact(fact, intake, kind=Kind.OTHER, detail=event_type)
