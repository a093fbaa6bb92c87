"""AgentMail's side of a reply: post the stored bytes, or look for our reply in the thread.

Owns: the two calls, the headers that go with them, and how much of an answer is read.
May not: decide what an answer means, or try again.
"""

import asyncio
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlencode

import msgspec

from processors.core.outcomes import Answer, Failure, Looked, is_our_reply
from processors.core.requests import LookCall, PostCall
from processors.providers.account_http import AccountHttp, Heard
from processors.providers.guarded_post import Guard, Post
from schemas.directory import Account

# An answer to a post is two ids; a page of a thread is up to a hundred mails.
MOST_ANSWER_BYTES: Final = 1024 * 1024
MOST_PAGE_BYTES: Final = 32 * 1024 * 1024
# Newest first, a hundred a page: two thousand mails of one thread are looked through.
MOST_PAGES: Final = 20
PAGE_SIZE: Final = "100"

_OK: Final = 200


class AgentMailClient:
    """Calls through one account. Its connections live in the event loop that first uses it."""

    def __init__(self, account: Account, *, environ: Mapping[str, str]) -> None:
        self._http = AccountHttp(account, environ=environ)

    async def post(self, call: PostCall, *, guard: Guard, timeout_s: float) -> Answer:
        """S2. Post once, whatever comes of it, within the time given.

        Raises only what `guard` raises, and then no byte of the request has left.
        """
        stored = call.request
        query = f"?{stored.query}" if stored.query else ""
        headers = {
            "Content-Type": stored.content_type,
            "Idempotency-Key": call.idempotency_key,
        }
        post = Post(body=stored.body, headers=headers, guard=guard)
        heard = await self._http.post(
            f"{stored.path}{query}", post, limit=MOST_ANSWER_BYTES, timeout_s=timeout_s
        )
        return _answer(heard)

    async def look_up(self, call: LookCall, *, timeout_s: float) -> Looked:
        """Look through the thread for our reply, newest mails first, within the time given."""
        try:
            async with asyncio.timeout(timeout_s):
                return await self._look(call, timeout_s=timeout_s)
        except TimeoutError:
            return Looked(answer=Answer(failure=Failure.TIMEOUT))

    async def close(self) -> None:
        """Close the connections."""
        await self._http.close()

    async def _look(self, call: LookCall, *, timeout_s: float) -> Looked:
        answer, token = Answer(status=_OK), ""
        for _ in range(MOST_PAGES):
            query = urlencode({"limit": PAGE_SIZE} | ({"page_token": token} if token else {}))
            heard = await self._http.get(
                f"{call.path}?{query}", limit=MOST_PAGE_BYTES, timeout_s=timeout_s
            )
            if heard.failure or heard.status != _OK:
                return Looked(answer=_answer(heard))
            answer = Answer(status=heard.status, retry_after=heard.retry_after)
            page = _fields(heard.body)
            if page is None or not isinstance(page.get("messages"), list):
                # A 200 that is no thread says nothing about what is in it.
                return Looked(answer=Answer(failure=Failure.CONNECTION))
            if (found := _our_reply(page["messages"], answered_id=call.answered_id)) is not None:
                return Looked(answer=answer, found=found)
            token = _text(page, "next_page_token") or ""
            if not token:
                break
        return Looked(answer=answer)


def _answer(heard: Heard) -> Answer:
    fields = _fields(heard.body) or {}
    return Answer(
        status=heard.status,
        failure=heard.failure,
        retry_after=heard.retry_after,
        code=_text(fields, "code") or _text(fields, "name"),
        message_id=_text(fields, "message_id"),
        thread_id=_text(fields, "thread_id"),
    )


def _our_reply(messages: list[Any], *, answered_id: str) -> tuple[str, str | None] | None:
    for each in messages:
        if not isinstance(each, dict) or (message_id := _text(each, "message_id")) is None:
            continue
        if is_our_reply(each.get("labels"), each.get("in_reply_to"), answered_id=answered_id):
            return message_id, _text(each, "thread_id")
    return None


def _fields(body: bytes | None) -> dict[str, Any] | None:
    try:
        found = msgspec.json.decode(body or b"null")
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _text(fields: dict[str, Any], name: str) -> str | None:
    value = fields.get(name)
    return value if isinstance(value, str) and value.strip() else None
