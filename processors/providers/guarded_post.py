"""A post that asks before its first byte leaves, and leaves once.

Owns: the moment between the guard's answer and the write, and that nothing is sent twice.
May not: know an account, or what an answer means.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import aiohttp
from aiohttp.abc import AbstractStreamWriter

# Called when the request is about to be written to the socket; what it raises ends the call there.
Guard = Callable[[], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """What makes a call a post. `guard` lets its first byte leave."""

    body: bytes
    headers: Mapping[str, str]
    guard: Guard


class GuardedBody(aiohttp.Payload):
    """A body that asks before it leaves, and leaves once.

    The library holds the head of a request back until the first bytes of its body are written, so
    what the guard keeps from being written here is the whole request. Between its answer and the
    write to the socket no other task runs.
    """

    def __init__(self, post: Post) -> None:
        super().__init__(post.body, headers={"Content-Type": post.headers["Content-Type"]})
        self._size = len(post.body)
        self._guard = post.guard
        self.withheld: Exception | None = None

    @property
    def is_begun(self) -> bool:
        """Whether bytes of the request may have left."""
        return self._consumed

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        """The body as text."""
        return str(self._value, encoding, errors)

    async def write(self, writer: AbstractStreamWriter) -> None:
        """Write the request, if it may still leave."""
        try:
            self._guard()
        except Exception as error:
            # The library makes a broken connection of this; the caller raises the original.
            self.withheld = error
            raise
        # From here on the library counts the body as used up, and would not send it again.
        self._consumed = True
        await writer.write(self._value)


async def send_once(
    request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    """Send once. The library would repeat a GET whose connection broke; by this error it does not.

    It repeats no post, and could not: what made the body count as used up is in `GuardedBody`.
    """
    try:
        return await send(request)
    except aiohttp.ClientConnectorError:
        raise
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        raise aiohttp.ClientConnectionError("the connection broke") from error
