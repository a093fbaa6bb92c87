"""The exact request of a reply, and the call that carries it: built once, repeated byte for byte.

Owns: paths (each id one percent-encoded segment), bodies, and which headers our mail carries.
May not: send. No header value that leaves here holds a control or line-separating character,
also after decoding; a value that cannot stand in a header is left out.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

import msgspec

from processors.core.ledger_rows import LedgerRow, Request, TextRow
from schemas.codec import to_json
from schemas.commands import AskReply

POST: Final = "post"
LOOK_UP: Final = "look-up"

JSON: Final = "application/json"

# RFC 5322 2.1.1: a line has at most 998 characters; the name and a fold need some of them.
MAX_HEADER_VALUE: Final = 900


@dataclass(frozen=True, slots=True, kw_only=True)
class PostCall:
    """What `perform` needs to post a reply. `switches`: any of them off, and it is not made."""

    provider: str
    account: str
    idempotency_key: str
    request: Request
    switches: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LookCall:
    """What `perform` needs to look for our own reply to one message in its thread."""

    provider: str
    account: str
    path: str
    answered_id: str


def switches_of(inbox_id: str, workspace: str) -> tuple[str, ...]:
    """The kill switches of a reply: for all, for its inbox, for its workspace.

    An inbox may be named like a workspace, so the two are set apart by their separator.
    """
    return ("sends", f"sends/{inbox_id}", f"sends:{workspace}")


def reply_request(ask: AskReply, text: TextRow) -> Request:
    """The one request by which this text answers that message."""
    return _BUILDERS[ask.provider](ask, text)


def post_call(row: LedgerRow, request: Request) -> PostCall:
    """The call that posts a stored request."""
    return PostCall(
        provider=row.provider,
        account=row.account,
        idempotency_key=row.reply_key,
        request=request,
        switches=switches_of(row.inbox_id, row.workspace),
    )


def look_call(ask: AskReply) -> LookCall | None:
    """The call that looks for our reply, or None where the thread's name there is not known."""
    thread_id = ask.event.provider_thread_id
    if not thread_id:
        return None
    return LookCall(
        provider=ask.provider,
        account=ask.account,
        path=f"/v0/inboxes/{segment(ask.inbox_id)}/threads/{segment(thread_id)}",
        answered_id=ask.message_id,
    )


def segment(value: str) -> str:
    """An id as one path segment: decoding it once gives the id, and no server climbs on dots."""
    encoded = quote(value, safe="")
    return encoded if encoded.strip(".") else encoded.replace(".", "%2E")


def mail_headers(ask: AskReply) -> dict[str, str]:
    """What tells other machines that a machine wrote this mail (RFC 3834, MS-OXCMAIL)."""
    loop = header_value(ask.inbox_id)
    headers = {"Auto-Submitted": "auto-replied", "X-Auto-Response-Suppress": "All"}
    return headers if loop is None else headers | {"X-Loop": loop}


def header_value(value: str) -> str | None:
    """The value, if it can stand in a header as it is; None otherwise.

    `isprintable` refuses C0, DEL, C1, U+2028 and U+2029. An encoded word is refused whole: what
    it decodes to is not what was looked at here.
    """
    is_plain = value.isprintable() and "=?" not in value and len(value) <= MAX_HEADER_VALUE
    return value if is_plain and value.strip() else None


def _agentmail(ask: AskReply, text: TextRow) -> Request:
    # The provider's own spelling of the id; the comparison form has lost its brackets.
    message_id = ask.event.provider_message_id or ask.message_id
    body = _AgentMailReply(text=text.text, html=text.html, headers=mail_headers(ask))
    return Request(
        method="POST",
        path=f"/v0/inboxes/{segment(ask.inbox_id)}/messages/{segment(message_id)}/reply",
        query="",
        content_type=JSON,
        body=to_json(body),
    )


class _AgentMailReply(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """providers.md 1.5. Neither `to` nor `reply_all`: the provider answers who wrote."""

    text: str
    headers: dict[str, str]
    html: str | None = None


_BUILDERS: Final[Mapping[str, Callable[[AskReply, TextRow], Request]]] = {"agentmail": _agentmail}
