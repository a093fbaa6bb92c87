"""AgentMail's side of a reply: post the stored bytes, or look for our reply in the thread.

Owns: the two calls, the headers that go with them, and how much of an answer is read.
May not: decide what an answer means, try again, or follow a redirect: the key is for this host.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, Final
from urllib.parse import urlencode

import httpx
import msgspec

from processors.core.outcomes import Answer, Failure, Looked, is_our_reply
from processors.core.requests import LookCall, PostCall
from processors.providers.account_key import NoKey, account_key
from schemas.directory import Account

# Called when the request is about to be written to the socket; what it raises ends the call there.
Guard = Callable[[], None]

# An answer to a post is two ids; a page of a thread is up to a hundred mails.
MOST_ANSWER_BYTES: Final = 1024 * 1024
MOST_PAGE_BYTES: Final = 32 * 1024 * 1024
# Newest first, a hundred a page: two thousand mails of one thread are looked through.
MOST_PAGES: Final = 20
PAGE_SIZE: Final = "100"

_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost"})
_OK: Final = 200
_WRITE_BEGINS: Final = "send_request_headers.started"


class AgentMailClient:
    """Calls through one account. Its connections live in the event loop that first uses it."""

    def __init__(self, account: Account, *, environ: Mapping[str, str]) -> None:
        self._account = account
        self._environ = environ
        self._client: httpx.AsyncClient | None = None

    async def post(self, call: PostCall, *, guard: Guard, timeout_s: float) -> Answer:
        """S2. Post once, whatever comes of it, within the time given.

        Raises only what `guard` raises, and then no byte of the request has left.
        """
        stored = call.request
        query = f"?{stored.query}" if stored.query else ""
        try:
            request = self._request(stored.method, f"{stored.path}{query}", content=stored.body)
        except (NoKey, httpx.InvalidURL):
            return Answer(failure=Failure.UNCONFIGURED)
        request.headers["Content-Type"] = stored.content_type
        request.headers["Idempotency-Key"] = call.idempotency_key
        request.extensions["trace"] = _at_write(guard)
        guard()
        answer, body = await self._exchange(request, limit=MOST_ANSWER_BYTES, timeout_s=timeout_s)
        return _with_ids(answer, body)

    async def look_up(self, call: LookCall, *, timeout_s: float) -> Looked:
        """Look through the thread for our reply, newest mails first, within the time given."""
        try:
            async with asyncio.timeout(timeout_s):
                return await self._look(call, timeout_s=timeout_s)
        except TimeoutError:
            return Looked(answer=Answer(failure=Failure.TIMEOUT))
        except (NoKey, httpx.InvalidURL):
            return Looked(answer=Answer(failure=Failure.UNCONFIGURED))

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.aclose()

    async def _look(self, call: LookCall, *, timeout_s: float) -> Looked:
        answer, token = Answer(status=_OK), ""
        for _ in range(MOST_PAGES):
            query = urlencode({"limit": PAGE_SIZE} | ({"page_token": token} if token else {}))
            request = self._request("GET", f"{call.path}?{query}")
            answer, body = await self._exchange(request, limit=MOST_PAGE_BYTES, timeout_s=timeout_s)
            page = _fields(body)
            if answer.failure or answer.status != _OK:
                return Looked(answer=_with_ids(answer, body))
            if page is None or not isinstance(page.get("messages"), list):
                # A 200 that is no thread says nothing about what is in it.
                return Looked(answer=Answer(failure=Failure.CONNECTION))
            if (found := _our_reply(page["messages"], answered_id=call.answered_id)) is not None:
                return Looked(answer=answer, found=found)
            token = _text(page, "next_page_token") or ""
            if not token:
                break
        return Looked(answer=answer)

    def _request(self, method: str, path: str, *, content: bytes | None = None) -> httpx.Request:
        """A request to this account. Raises NoKey or InvalidURL."""
        key = account_key(self._account, self._environ)
        headers = {"Authorization": f"Bearer {key}", "Accept": "application/json"}
        url = f"{self._account.base_url.rstrip('/')}{path}"
        return self._open().build_request(method, url, headers=headers, content=content)

    def _open(self) -> httpx.AsyncClient:
        if self._client is None:
            # A proxy of the environment is for the world outside, not for this machine.
            is_outside = httpx.URL(self._account.base_url).host not in _LOOPBACK
            self._client = httpx.AsyncClient(trust_env=is_outside, follow_redirects=False)
        return self._client

    async def _exchange(
        self, request: httpx.Request, *, limit: int, timeout_s: float
    ) -> tuple[Answer, bytes | None]:
        """The answer without its ids, and the body where it is not longer than the limit."""
        half_s = timeout_s / 2
        request.extensions["timeout"] = httpx.Timeout(
            timeout_s, connect=half_s, pool=half_s
        ).as_dict()
        try:
            async with asyncio.timeout(timeout_s):
                response = await self._open().send(request, stream=True)
                try:
                    body = await _limited(response, limit)
                finally:
                    await response.aclose()
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout):
            return Answer(failure=Failure.UNREACHED), None
        except (httpx.TimeoutException, TimeoutError):
            return Answer(failure=Failure.TIMEOUT), None
        except httpx.HTTPError:
            return Answer(failure=Failure.CONNECTION), None
        told = response.headers.get("retry-after")
        return Answer(status=response.status_code, retry_after=told), body


def _at_write(guard: Guard) -> Callable[[str, Any], Awaitable[None]]:
    async def trace(event: str, _info: Any) -> None:
        if event.endswith(_WRITE_BEGINS):
            guard()

    return trace


async def _limited(response: httpx.Response, limit: int) -> bytes | None:
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > limit:
            return None
    return bytes(body)


def _with_ids(answer: Answer, body: bytes | None) -> Answer:
    fields = _fields(body) or {}
    return replace(
        answer,
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
