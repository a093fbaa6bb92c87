"""A provider of bytes: keeps what reaches it, and answers with whatever a test writes.

Owns: listening on loopback in the test's own event loop, and telling requests apart.
May not: keep a rule of HTTP where a test wants it broken.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from processors.providers.agentmail_client import AgentMailClient
from tests.contract.agentmail_calls import DEADLINE_S, ENVIRON, an_account

RECEIPT = b'{"message_id":"<r@x.example>","thread_id":"thd"}'


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as it came."""

    line: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def target(self) -> str:
        """What stands between the method and the version."""
        return self.line.split(" ")[1]


Answer = Callable[[Asked, asyncio.StreamWriter], Awaitable[None]]


def response(
    body: bytes = RECEIPT, *, status: int = 200, headers: Mapping[str, str] | None = None
) -> bytes:
    """A whole answer."""
    lines = {"Content-Length": str(len(body)), "Content-Type": "application/json"}
    told = "".join(f"{name}: {value}\r\n" for name, value in (lines | dict(headers or {})).items())
    return f"HTTP/1.1 {status} Said\r\n{told}\r\n".encode() + body


def saying(*answers: bytes) -> Answer:
    """These in turn, the last of them for ever; the connection stays."""
    left = list(answers)

    async def answer(_asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(left.pop(0) if len(left) > 1 else left[0])

    return answer


def saying_and_closing(*answers: bytes) -> Answer:
    """These in turn, and the end of the connection after each."""
    say = saying(*answers)

    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        await say(asked, writer)
        writer.close()

    return answer


@dataclass(kw_only=True)
class Wire:
    """A provider while it listens."""

    url: str = ""
    requests: list[Asked] = field(default_factory=list)
    # How many bytes came on each connection, in the order in which they were opened.
    received: list[int] = field(default_factory=list)
    ended: asyncio.Event = field(default_factory=asyncio.Event)


@asynccontextmanager
async def listening(answer: Answer, *, tls: ssl.SSLContext | None = None) -> AsyncIterator[Wire]:
    """A provider that answers like this for as long as the block lasts."""
    wire = Wire()
    open_now: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        open_now.add(task)
        task.add_done_callback(open_now.discard)
        nth = len(wire.received)
        wire.received.append(0)
        try:
            while (asked := await _next(reader, wire, nth)) is not None:
                wire.requests.append(asked)
                await answer(asked, writer)
        except (ConnectionError, asyncio.CancelledError):
            writer.transport.abort()
        finally:
            writer.close()
            wire.ended.set()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    port = server.sockets[0].getsockname()[1]
    wire.url = f"{'http' if tls is None else 'https'}://127.0.0.1:{port}"
    try:
        yield wire
    finally:
        server.close()
        for task in list(open_now):
            task.cancel()
        await asyncio.gather(*open_now, return_exceptions=True)
        await server.wait_closed()


async def _next(reader: asyncio.StreamReader, wire: Wire, nth: int) -> Asked | None:
    """The next request of a connection, or None at its end."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        line, *rest = head.decode("ascii").strip().split("\r\n")
        pairs = (each.partition(": ") for each in rest)
        headers = {name.lower(): value for name, _, value in pairs}
        wire.received[nth] += len(head)
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        wire.received[nth] += len(body)
    except asyncio.IncompleteReadError as error:
        wire.received[nth] += len(error.partial)
        return None
    return Asked(line, headers, body)


@asynccontextmanager
async def calling(url: str, environ: Mapping[str, str] = ENVIRON) -> AsyncIterator[AgentMailClient]:
    """A client of the provider that listens there."""
    client = AgentMailClient(an_account(url), environ=environ)
    try:
        yield client
    finally:
        await asyncio.wait_for(client.close(), DEADLINE_S)
