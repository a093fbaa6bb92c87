"""Answers that are not answers: a connection cut without a byte, a reply that is kept back.

Owns: what happens between an accepted request and its client when a fault says so.
May not: decide that it happens.
"""

from collections.abc import Callable
from typing import Any, Final

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ops.standin.waits import HoldEnd, Holds

# The server puts a function under this name that closes the client's connection at once.
CUT_EXTENSION: Final = "onereply.cut"

Ended = Callable[[str, int | None], None]


def ignore_end(_how: str, _status: int | None) -> None:
    """Nobody asked how it ended."""


class CutAnswer(Response):
    """Closes the connection without a byte of an answer."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - nothing is sent
        """Cut, and return once the server has let go of the connection."""
        cut: Callable[[], Any] | None = scope.get("extensions", {}).get(CUT_EXTENSION)
        if cut is None:
            raise RuntimeError("this server cannot cut a connection: run python -m ops.standin")
        cut()
        await _until_gone(receive)


class HeldAnswer(Response):
    """Sends the inner answer when it is released, or nothing if the client leaves before."""

    def __init__(
        self, inner: Response, *, holds: Holds, seconds: float, complete: Callable[[], None]
    ) -> None:
        super().__init__(status_code=inner.status_code)
        self._inner = inner
        self._holds = holds
        self._seconds = seconds
        self._complete = complete
        self._ended: Ended = ignore_end

    def tell(self, ended: Ended) -> None:
        """Have this told how the request ended."""
        self._ended = ended

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hold, complete the send, then answer. The send counts as running until then."""
        try:
            end = await self._holds.hold(self._seconds, left=lambda: _until_gone(receive))
        finally:
            self._complete()
        if end is HoldEnd.CLIENT_LEFT:
            self._ended(end, None)
            return
        self._ended("answered", self._inner.status_code)
        await self._inner(scope, receive, send)


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
