"""From a request's body to the mail that goes out: reply, reply-all, send.

Owns: the request bodies, who receives a reply, and how it hangs in its thread (RFC 5322 3.6.4).
May not: store the mail, or know keys and faults.
"""

import re
from datetime import datetime
from email.utils import parseaddr
from typing import Final
from uuid import uuid4

from msgspec import Struct, structs

from ops.standin.messages import Attachment, Message, preview_of
from ops.standin.refusals import ApiError
from ops.standin.wire import decode_json

MAX_RECIPIENTS: Final = 50
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_UNSENDABLE: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")

Addresses = str | tuple[str, ...]


class OutgoingAttachment(Struct, frozen=True, kw_only=True):
    """A file to send: its bytes in base64, or where they are."""

    filename: str | None = None
    content_type: str | None = None
    content_disposition: str | None = None
    content_id: str | None = None
    content: str | None = None
    url: str | None = None


class ReplyAllBody(Struct, frozen=True, kw_only=True):
    """What reply-all takes. Members it does not know are ignored."""

    labels: tuple[str, ...] | None = None
    reply_to: Addresses | None = None
    text: str | None = None
    html: str | None = None
    attachments: tuple[OutgoingAttachment, ...] | None = None
    headers: dict[str, str] | None = None
    track_opens: bool | None = None


class ReplyBody(ReplyAllBody, frozen=True, kw_only=True):
    """What reply takes: also recipients."""

    to: Addresses | None = None
    cc: Addresses | None = None
    bcc: Addresses | None = None
    reply_all: bool | None = None


class SendBody(ReplyBody, frozen=True, kw_only=True):
    """What send takes: also a subject."""

    subject: str | None = None


class Recipients(Struct, frozen=True, kw_only=True):
    """Who gets a mail."""

    to: tuple[str, ...] = ()
    cc: tuple[str, ...] = ()
    bcc: tuple[str, ...] = ()


class Placing(Struct, frozen=True, kw_only=True):
    """Where a mail belongs: its thread, and the mails before it."""

    thread_id: str
    subject: str | None = None
    in_reply_to: str | None = None
    references: tuple[str, ...] = ()


def parse_body(operation: str, body: bytes) -> SendBody:
    """The body of this operation; members it does not take are None. ApiError 400 if it is none."""
    kinds: dict[str, type[ReplyAllBody]] = {"reply": ReplyBody, "reply-all": ReplyAllBody}
    try:
        parsed = decode_json(body or b"{}", kinds.get(operation, SendBody))
    except ValueError as error:
        raise ApiError(400, str(error)) from error
    _check_headers(parsed.headers or {})
    return SendBody(**structs.asdict(parsed))


def placing_of_reply(parent: Message) -> Placing:
    """A reply stands in its parent's thread, after everything the parent stands after."""
    before = parent.references
    if not before and parent.in_reply_to and len(parent.in_reply_to.split()) == 1:
        before = (parent.in_reply_to,)
    subject = parent.subject or ""
    return Placing(
        thread_id=parent.thread_id,
        subject=subject if subject.lower().startswith("re:") else f"Re: {subject}".strip(),
        in_reply_to=parent.message_id,
        references=(*before, parent.message_id),
    )


def recipients_of_reply(parent: Message, content: SendBody) -> Recipients:
    """Those the body names, else those the parent asks to be answered.

    What an explicit `to` together with `reply_all` does is not documented, so it is refused here.
    """
    if content.to is None:
        return recipients_of_reply_all(parent) if content.reply_all else _derived(parent, content)
    if content.reply_all is not None:
        raise ApiError(400, "to and reply_all together: what that does is not documented")
    return recipients_of_send(content)


def recipients_of_reply_all(parent: Message) -> Recipients:
    """Everyone who took part in the parent, less this inbox."""
    to = _answerable(parent)
    taken = {_address(each) for each in (*to, parent.inbox_id)}
    others = dict.fromkeys((*parent.to, *parent.cc))
    return _counted(
        Recipients(to=to, cc=tuple(each for each in others if _address(each) not in taken))
    )


def recipients_of_send(content: SendBody) -> Recipients:
    """Those the body names."""
    return _counted(
        Recipients(to=_listed(content.to), cc=_listed(content.cc), bcc=_listed(content.bcc))
    )


def composed(
    inbox_id: str, content: SendBody, *, recipients: Recipients, placing: Placing, now: datetime
) -> Message:
    """The mail as it will stand in the mailbox, under a Message-ID that no other mail has."""
    text, html = content.text, content.html
    return Message(
        inbox_id=inbox_id,
        thread_id=placing.thread_id,
        message_id=fresh_message_id(inbox_id),
        labels=tuple(dict.fromkeys(("sent", *(content.labels or ())))),
        timestamp=now,
        sender=inbox_id,
        to=recipients.to,
        cc=recipients.cc,
        bcc=recipients.bcc,
        reply_to=_listed(content.reply_to),
        subject=placing.subject,
        preview=preview_of(text),
        text=text,
        html=html,
        attachments=tuple(_sent_attachment(each) for each in content.attachments or ()),
        in_reply_to=placing.in_reply_to,
        references=placing.references,
        headers=content.headers,
        size=len((text or "").encode()) + len((html or "").encode()),
        updated_at=now,
        created_at=now,
    )


def fresh_message_id(inbox_id: str) -> str:
    """A Message-ID of the inbox's domain, with angle brackets, never given before."""
    domain = inbox_id.rpartition("@")[2] if "@" in inbox_id else "standin.example"
    return f"<{uuid4().hex}@{domain}>"


def fresh_thread_id() -> str:
    """A thread id never given before."""
    return f"thd_{uuid4().hex}"


def _derived(parent: Message, content: SendBody) -> Recipients:
    return _counted(
        Recipients(to=_answerable(parent), cc=_listed(content.cc), bcc=_listed(content.bcc))
    )


def _answerable(parent: Message) -> tuple[str, ...]:
    if "sent" in parent.labels:
        return parent.to
    return parent.reply_to or (parent.sender,)


def _counted(recipients: Recipients) -> Recipients:
    total = len(recipients.to) + len(recipients.cc) + len(recipients.bcc)
    if total == 0:
        raise ApiError(422, "no recipient is left")
    if total > MAX_RECIPIENTS:
        raise ApiError(400, f"{total} recipients: at most {MAX_RECIPIENTS} in to, cc and bcc")
    return recipients


def _listed(addresses: Addresses | None) -> tuple[str, ...]:
    given = (addresses,) if isinstance(addresses, str) else addresses or ()
    return tuple(address for address in given if address.strip())


def _address(written: str) -> str:
    return parseaddr(written)[1].lower()


def _sent_attachment(given: OutgoingAttachment) -> Attachment:
    return Attachment(
        attachment_id=f"att_{uuid4().hex}",
        size=len(given.content or "") * 3 // 4,
        filename=given.filename,
        content_type=given.content_type,
        content_disposition=given.content_disposition,
        content_id=given.content_id,
    )


def _check_headers(headers: dict[str, str]) -> None:
    for name, value in headers.items():
        if not _HEADER_NAME.fullmatch(name) or _UNSENDABLE.search(value):
            raise ApiError(400, "headers: a name or value cannot stand in a mail")
