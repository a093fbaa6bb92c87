"""Calls through our AgentMail client, as its contract tests make them."""

import asyncio
from collections.abc import Callable, Mapping

import httpx

from processors.core.ledger_rows import Request
from processors.core.outcomes import Answer, Looked
from processors.core.requests import LookCall, PostCall, segment
from processors.providers.agentmail_client import AgentMailClient
from schemas.directory import Account
from tests.contract.standin_http import INBOX, MESSAGE_ID

KEY = "reply-" + "a" * 64
BODY = b'{"text":"Hello Ann","headers":{"Auto-Submitted":"auto-replied"}}'
ENVIRON = {"MAIL_KEY": "am_test"}
DEADLINE_S = 20.0
# For answers that never come: long enough for a loaded machine to have sent the request.
SHORT_S = 2.0
ODD_IDS = (
    "<a/b@x.example>",
    "<a+b@x.example>",
    "<a%2Fb@x.example>",
    "<a?b#c@x.example>",
    "<../../inboxes@x.example>",
    "<\u00fc b@x.example>",
    "..",
)


class Withheld(Exception):
    """The call may not be made."""


def open_gate() -> None:
    """Let the request be written."""


def an_account(url: str) -> Account:
    """An account at the provider that listens there."""
    return Account(provider="agentmail", base_url=url, api_key="MAIL_KEY")


def a_post(message_id: str = MESSAGE_ID, *, key: str = KEY, body: bytes = BODY) -> PostCall:
    """The reply to that message."""
    path = f"/v0/inboxes/{segment(INBOX)}/messages/{segment(message_id)}/reply"
    request = Request(
        method="POST", path=path, query="", content_type="application/json", body=body
    )
    return PostCall(
        provider="agentmail", account="main", idempotency_key=key, request=request, switches=()
    )


def a_look(thread_id: str) -> LookCall:
    """A look for our reply to the message, in that thread."""
    path = f"/v0/inboxes/{segment(INBOX)}/threads/{segment(thread_id)}"
    return LookCall(
        provider="agentmail", account="main", path=path, answered_id=MESSAGE_ID.strip("<>")
    )


def post(
    url: str,
    *calls: PostCall,
    guard: Callable[[], None] = open_gate,
    environ: Mapping[str, str] = ENVIRON,
    timeout_s: float = DEADLINE_S,
) -> list[Answer]:
    """The answers to these calls, made one after the other through one client."""

    async def made() -> list[Answer]:
        client = AgentMailClient(an_account(url), environ=environ)
        try:
            return [await client.post(call, guard=guard, timeout_s=timeout_s) for call in calls]
        finally:
            await client.close()

    return asyncio.run(made())


def look(
    url: str,
    thread_id: str,
    *,
    environ: Mapping[str, str] = ENVIRON,
    timeout_s: float = DEADLINE_S,
) -> Looked:
    """What a look into that thread finds."""

    async def made() -> Looked:
        client = AgentMailClient(an_account(url), environ=environ)
        try:
            return await client.look_up(a_look(thread_id), timeout_s=timeout_s)
        finally:
            await client.close()

    return asyncio.run(made())


def requests_seen(api: httpx.Client) -> int:
    """How many requests reached the provider."""
    total: int = api.get("/_standin/requests").json()["total"]
    return total
