"""One connection: bounded while it is read, in bytes and in time, before it is known who sends.

Owns: what a head and the lines around a body may take, and the deadlines of a sender that does not
go on.
May not: look for a meaning in a header or a body.
"""

import asyncio
from enum import Enum, auto
from typing import Any, Final, NoReturn

from uvicorn.server import ServerState

from ingest.answers import Reason, TurnedAway
from ingest.ending import ConnectionConfig, EndingConnection

# What RFC 9112 3 asks a server to take at least.
MAX_URL_BYTES: Final = 8_000
# A sender's own headers come to about 1 kB in 15; proxies add some.
MAX_HEADERS: Final = 100
MAX_HEAD_BYTES: Final = 32 * 1024
# Chunk lines and trailers: this much, and as much again as there is body, so that chunks may be as
# small as five bytes; but never more than for a body of this length.
MAX_FRAMING_BYTES: Final = 16 * 1024
MAX_FRAMED_BYTES: Final = 1024 * 1024
# Requests that wait behind one in hand: one read of a socket may bring thousands.
MAX_PIPELINED: Final = 100
# Connections above the limit that are still told so when they speak; any more are cut at once.
MAX_TOLD: Final = 100

# An outcome that is counted and never answered.
SILENT: Final = "silent"


class Part(Enum):
    """What of a request comes next."""

    HEAD = auto()
    BODY = auto()
    NOTHING = auto()


class DoorConnection(EndingConnection):
    """Reads requests, and refuses what goes beyond a limit.

    The parser keeps whatever an unfinished line holds, so bytes are counted as they come, before
    it has named anything.
    """

    def __init__(
        self,
        config: ConnectionConfig,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._most = config.limits.connections
        self._part = Part.HEAD
        self._requests = 0
        self.url = b""
        self._part_bytes = 0
        self._body_bytes = 0
        self._reason = Reason.MALFORMED
        self._is_one_too_many = False
        self._late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
        """Wait for a head, if there is room."""
        super().connection_made(transport)
        above = len(self.connections) - self._most
        if above > MAX_TOLD:
            self.count(Reason.TOO_MANY_CONNECTIONS)
            transport.abort()
            return
        self._is_one_too_many = above > 0
        self._late = self.loop.call_later(self.patience_s, self._head_is_late)

    def data_received(self, data: bytes) -> None:
        """Read on, within the limits."""
        if self.is_refused:
            return
        if self._is_one_too_many:
            self.refuse(Reason.TOO_MANY_CONNECTIONS)
            return
        if self._part is Part.NOTHING:
            self._part, self._part_bytes = Part.HEAD, 0
        before, body_bytes = (self._part, self._requests), self._body_bytes
        super().data_received(data)
        if self._part is Part.NOTHING:
            self.wait_for_next()
        elif not self.is_refused:
            # How much of these bytes is the part's, when it began in them, nobody knows.
            is_same = before == (self._part, self._requests)
            more = len(data) - (self._body_bytes - body_bytes) if is_same else 0
            self._check(self._part_bytes + more if is_same else 0)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        self._stand_down()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """A request line."""
        super().on_message_begin()
        self._part = Part.HEAD

    def on_headers_complete(self) -> None:
        """The head is whole: the door may have it.

        What comes as a header from here on is a trailer, and goes into a list that nobody reads:
        it must not pass for a header (RFC 9110 6.5.1).
        """
        if len(self.url) > MAX_URL_BYTES:
            self._stop(Reason.URL_TOO_LONG)
        if len(self.headers) > MAX_HEADERS:
            self._stop(Reason.HEADERS_TOO_LARGE)
        if sum([len(name) + len(value) for name, value in self.headers]) > MAX_HEAD_BYTES:
            self._stop(Reason.HEADERS_TOO_LARGE)
        if self.parser.should_upgrade():  # the parser would take its body for another protocol
            self._stop(Reason.UPGRADE)
        if len(self.pipeline) >= MAX_PIPELINED:
            self._stop(Reason.BUSY)
        super().on_headers_complete()
        self.headers = []
        self._part, self._body_bytes, self.is_in_body = Part.BODY, 0, True
        self._stand_down()

    def on_body(self, body: bytes) -> None:
        """Some of the body."""
        self._body_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """All of it."""
        super().on_message_complete()
        self._part, self.is_in_body = Part.NOTHING, False
        self._requests += 1
        self._stand_down()

    def on_response_complete(self) -> None:
        """What is left of a body that is answered comes in time or not at all."""
        super().on_response_complete()
        is_answered = self.is_in_body and self.cycle.response_complete
        if is_answered and self._late is None and not self.transport.is_closing():
            self._late = self.loop.call_later(self.patience_s, self.close)

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002  # ours say more
        """Refuse what the parser, or a limit inside of it, did not take."""
        self.refuse(self._reason)

    def refuse(self, reason: Reason) -> None:
        """Answer and close, and wait for nothing more."""
        self._stand_down()
        super().refuse(reason)

    def _stop(self, reason: Reason) -> NoReturn:
        """Leave the parser; it comes back through `send_400_response`."""
        self._reason = reason
        raise TurnedAway(reason)

    def _check(self, part_bytes: int) -> None:
        self._part_bytes = part_bytes
        if self.is_in_body:
            if part_bytes > MAX_FRAMING_BYTES + min(self._body_bytes, MAX_FRAMED_BYTES):
                self.refuse(Reason.FRAMING_TOO_LARGE)
        elif len(self.url) > MAX_URL_BYTES:
            self.refuse(Reason.URL_TOO_LONG)
        elif part_bytes > MAX_HEAD_BYTES:
            self.refuse(Reason.HEADERS_TOO_LARGE)
        elif self._late is None:
            self._late = self.loop.call_later(self.patience_s, self._head_is_late)

    def _head_is_late(self) -> None:
        self._late = None
        if self.flow.read_paused:  # it is we who do not read
            self._check(self._part_bytes)
        elif self._requests == 0 and self._part_bytes == 0:
            self.count(SILENT)
            self.close()
        else:
            self.refuse(Reason.HEAD_TOO_SLOW)

    def _stand_down(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None
