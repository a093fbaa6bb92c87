"""AgentMail's "get message", as an outcome.

Owns: the path, what each status means for a reading, and the limit on an answer's size.
May not: try again, or follow a redirect: the key is for this host alone.
"""

import asyncio
from collections.abc import Mapping
from typing import Final

import httpx

from processors.core.fetch_calls import Found, Never, NotNow, NotThere, Outcome, ReadCall
from processors.core.requests import segment
from processors.core.turn import MAX_VALUE_BYTES
from processors.providers.account_key import NoKey, account_key
from processors.providers.agentmail import payload_of
from schemas.directory import Account
from schemas.errors import DecodeError

_OK: Final = 200
_NOT_FOUND: Final = 404
# Refused for now: a key that somebody may mend, a limit, a call that ran out.
_LATER: Final = frozenset({401, 403, 408, 409, 425, 429})
_CLIENT_ERRORS: Final = range(400, 500)
_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost"})


class AgentMailReader:
    """Reads messages through one account. `environ` is where its key is looked up, each time.

    Its connections live in the event loop that first uses it: a client of its own for each call
    would load the machine's certificates again each time, some 10 ms of work.
    """

    def __init__(
        self,
        account: Account,
        *,
        environ: Mapping[str, str],
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._account = account
        self._environ = environ
        self._transport = transport
        self._client: httpx.AsyncClient | None = None
        base = httpx.URL(account.base_url)
        # A proxy of the environment is for the world outside, not for this machine.
        self._trusts_environment = base.host not in _LOOPBACK

    async def read(self, call: ReadCall, *, timeout_s: float) -> Outcome:
        """What came of one call. Ends within the time given, whatever the server does."""
        try:
            key = account_key(self._account, self._environ)
            async with asyncio.timeout(timeout_s):
                return await self._read(call, key=key, timeout_s=timeout_s)
        except NoKey as error:
            return NotNow(reason=str(error))
        except (httpx.HTTPError, httpx.InvalidURL, TimeoutError) as error:
            # The kind alone: what a client says of an address is not for topics.
            return NotNow(reason=type(error).__name__)

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.aclose()

    def _open(self) -> httpx.AsyncClient:
        if self._client is None:
            self._client = httpx.AsyncClient(
                transport=self._transport, trust_env=self._trusts_environment
            )
        return self._client

    async def _read(self, call: ReadCall, *, key: str, timeout_s: float) -> Outcome:
        headers = {"Authorization": f"Bearer {key}", "Accept": "application/json"}
        asked = self._open().stream("GET", self._url(call), headers=headers, timeout=timeout_s)
        async with asked as response:
            if response.status_code != _OK:
                return _refusal(response)
            answer = await _limited(response)
        if answer is None:
            return Never(reason=f"an answer of more than {MAX_VALUE_BYTES} bytes")
        return _message(answer, call)

    def _url(self, call: ReadCall) -> str:
        inbox, message = segment(call.inbox_id), segment(call.spelling)
        base = self._account.base_url.rstrip("/")
        return f"{base}/v0/inboxes/{inbox}/messages/{message}"


async def _limited(response: httpx.Response) -> bytes | None:
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > MAX_VALUE_BYTES:
            return None
    return bytes(body)


def _message(answer: bytes, call: ReadCall) -> Outcome:
    try:
        body = payload_of(
            answer, event_id=call.event_id, inbox_id=call.inbox_id, message_id=call.message_id
        )
    except DecodeError as error:
        return NotNow(reason=str(error))
    return Found(body=body)


def _refusal(response: httpx.Response) -> Outcome:
    status = response.status_code
    told = response.headers.get("retry-after")
    if status == _NOT_FOUND:
        return NotThere(reason=f"status {status}", retry_after=told)
    if status in _LATER or status not in _CLIENT_ERRORS:
        return NotNow(reason=f"status {status}", retry_after=told)
    return Never(reason=f"status {status}")
