"""HTTP to an account's provider: one request out, one bounded answer in.

Owns: the connections of an account, and which failure each error of the library is.
May not: repeat a post, follow a redirect, keep a cookie, or say what an answer means.
"""

import asyncio
import math
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.request import getproxies, proxy_bypass

import aiohttp
from aiohttp.http import HttpProcessingError
from yarl import URL

from processors.core.outcomes import Failure
from processors.providers.account_key import NoKey, account_key
from processors.providers.guarded_post import GuardedBody, Post, send_once
from schemas.directory import Account

# More calls at once than this wait for each other, half of their time at most.
MOST_CONNECTIONS: Final = 100
# Servers close idle connections after a minute or so: ours are given up well before that, since a
# post that meets a closing connection has an unknown outcome.
KEPT_IDLE_S: Final = 5.0

_NO_CONNECTION: Final = (
    aiohttp.ClientConnectorError,
    aiohttp.ConnectionTimeoutError,
    aiohttp.ClientHttpProxyError,  # the proxy was asked for a way through, and gave none
)
_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What came back. Body None: longer than the limit, or there was no answer.

    `cause` is the kind of what went wrong, in words that may stand in a topic: no address, no key.
    """

    status: int = 0
    retry_after: str | None = None
    body: bytes | None = None
    failure: Failure = Failure.NONE
    cause: str = ""


class AccountHttp:
    """Calls to one account. Its connections live in the event loop that first uses it.

    They are kept for the next calls: a client of its own for each call would load the machine's
    certificates each time, some 10 ms of work.
    """

    def __init__(self, account: Account, *, environ: Mapping[str, str]) -> None:
        self._account = account
        self._environ = environ
        self._session: aiohttp.ClientSession | None = None
        self._proxy: URL | None = None

    async def get(self, path: str, *, limit: int, timeout_s: float) -> Heard:
        """What the account has there. The path is sent as it is."""
        try:
            url, headers = self._address(path), self._headers({})
            session = self._open(url)
        except (NoKey, ValueError) as error:
            return _unusable(error)
        request = _Request("GET", url, headers)
        return await self._exchange(session, request, limit=limit, timeout_s=timeout_s)

    async def post(self, path: str, post: Post, *, limit: int, timeout_s: float) -> Heard:
        """Post once, whatever comes of it. The path is sent as it is.

        Raises only what the guard raises, and then no byte of the request has left. It is asked
        before a connection is looked for, and again in the step that writes the first byte.
        """
        try:
            url, headers = self._address(path), self._headers(post.headers)
            session = self._open(url)
        except (NoKey, ValueError) as error:
            return _unusable(error)
        post.guard()
        body = GuardedBody(post)
        request = _Request("POST", url, headers, body)
        heard = await self._exchange(session, request, limit=limit, timeout_s=timeout_s)
        if body.withheld is not None:
            raise body.withheld
        return heard

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()

    def _address(self, path: str) -> URL:
        # `encoded`: an id with %2F or dots in it must not be decoded, or it names something else.
        url = URL(f"{self._account.base_url.rstrip('/')}{path}", encoded=True)
        if not url.host or url.scheme not in {"http", "https"} or url.raw_user is not None:
            raise ValueError("no address of a provider")
        return url

    def _headers(self, more: Mapping[str, str]) -> dict[str, str]:
        key = account_key(self._account, self._environ)
        headers = {
            "Authorization": f"Bearer {key}",
            "Accept": "application/json",
            "Accept-Encoding": "gzip, deflate",
            **more,
        }
        # The library would send other letters as UTF-8, which a server may read as anything.
        if not all(value.isascii() and value.isprintable() for value in headers.values()):
            raise ValueError("no value of a header")
        return headers

    def _open(self, url: URL) -> aiohttp.ClientSession:
        if self._session is None:
            self._proxy = _proxy_for(url)
            verified: ssl.SSLContext | bool = True
            if url.scheme == "https":
                verified = ssl.create_default_context()
                verified.set_alpn_protocols(["http/1.1"])
            # The environment is read here, not by the library: it would also look for a netrc.
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    ssl=verified, limit=MOST_CONNECTIONS, keepalive_timeout=KEPT_IDLE_S
                ),
                cookie_jar=aiohttp.DummyCookieJar(),
                middlewares=(send_once,),
                trust_env=False,
            )
        return self._session

    async def _exchange(
        self, session: aiohttp.ClientSession, request: "_Request", *, limit: int, timeout_s: float
    ) -> Heard:
        try:
            async with asyncio.timeout(timeout_s):
                await _hear()
                response = await session.request(
                    request.method,
                    request.url,
                    headers=request.headers,
                    data=request.body,
                    allow_redirects=False,
                    proxy=self._proxy,
                    timeout=_connecting(timeout_s / 2),
                )
                try:
                    body = await _limited(response, limit)
                finally:
                    response.release()
        except (aiohttp.ClientError, HttpProcessingError, OSError, ValueError) as error:
            return Heard(failure=_failure(error, request), cause=type(error).__name__)
        return Heard(status=response.status, retry_after=_retry_after(response), body=body)


@dataclass(frozen=True, slots=True)
class _Request:
    method: str
    url: URL
    headers: Mapping[str, str]
    body: GuardedBody | None = None


async def _hear() -> None:
    """Let the loop hear which kept connections the other side has closed by now.

    It asks the sockets when this task first waits, and tells the connections when it waits again.
    """
    await asyncio.sleep(0)
    await asyncio.sleep(0)


def _proxy_for(url: URL) -> URL | None:
    # A proxy of the environment is for the world outside, not for this machine.
    host = url.host or ""
    if host in _LOOPBACK or proxy_bypass(host):
        return None
    proxies = getproxies()
    named = proxies.get(url.scheme) or proxies.get("all")
    if not named:
        return None
    proxy = URL(named if "://" in named else f"http://{named}")
    if proxy.scheme not in {"http", "https"} or not proxy.host:
        raise ValueError("no proxy that we can speak to")
    return proxy


def _connecting(seconds: float) -> aiohttp.ClientTimeout:
    # The whole call has a deadline of its own. Without a threshold the library would round up.
    return aiohttp.ClientTimeout(connect=seconds, ceil_threshold=math.inf)


async def _limited(response: aiohttp.ClientResponse, limit: int) -> bytes | None:
    body = bytearray()
    # Compressed answers are unpacked piece by piece, as they are read here.
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > limit:
            response.close()
            return None
    return bytes(body)


def _unusable(error: Exception) -> Heard:
    cause = str(error) if isinstance(error, NoKey) else type(error).__name__
    return Heard(failure=Failure.UNCONFIGURED, cause=cause)


def _failure(error: Exception, request: _Request) -> Failure:
    if isinstance(error, _NO_CONNECTION):
        return Failure.UNREACHED
    if isinstance(error, TimeoutError):
        return Failure.TIMEOUT
    is_begun = request.body is not None and request.body.is_begun
    if isinstance(error, ValueError) and not is_begun:
        # An address that cannot be looked up: nothing was sent, and nothing will be.
        return Failure.UNCONFIGURED
    return Failure.CONNECTION


def _retry_after(response: aiohttp.ClientResponse) -> str | None:
    told = response.headers.get("Retry-After")
    # Bytes that are no text come as half characters, which no topic can hold.
    return told if told is not None and told.isascii() else None
