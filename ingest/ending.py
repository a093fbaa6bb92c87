"""How a connection ends: answered, closed behind the answers that are owed, or cut.

Owns: the answer to what never becomes a delivery, and the deadline of a sender that does not read.
May not: decide what is refused, or write into another request's answer.
"""

import asyncio
import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final

import msgspec
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)
from uvicorn.server import ServerState

from ingest.answers import Reason, TurnedAway, turned_away

# The server's own words for a connection: it would log each refusal once more, without a reason.
SERVER_LOG: Final = "ingest.uvicorn"

log = logging.getLogger(__name__)


class ConnectionLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How many connections at once, and how long each may keep us waiting.

    `patience` is for a head, for what is left of a body that is answered, and for reading an
    answer; `idle` for the time between two requests.
    """

    connections: int
    patience: timedelta
    idle: timedelta


class ConnectionConfig(uvicorn.Config):
    """The server's options, with ours. `count` is told why a connection was refused."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        limits: ConnectionLimits,
        count: Callable[[str], None],
        **options: Any,
    ) -> None:
        options["timeout_keep_alive"] = limits.idle.total_seconds()
        super().__init__(app, **options)
        self.limits = limits
        self.count = count


class EndingConnection(HttpToolsProtocol):
    """A connection that can be refused at any point of a request."""

    def __init__(
        self,
        config: ConnectionConfig,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.logger = logging.getLogger(SERVER_LOG)
        self.count = config.count
        self.patience_s = config.limits.patience.total_seconds()
        self.is_refused = False
        self.is_in_body = False
        self._broken: RequestResponseCycle | None = None
        self._cut: asyncio.TimerHandle | None = None

    def refuse(self, reason: Reason) -> None:
        """Answer and close. Where answers are owed for requests before it, close behind them."""
        self.is_refused = True
        self.count(reason)
        log.warning("connection refused", extra={"reason": str(reason)})
        newest = self.cycle
        if not self.is_in_body:
            if newest is None or newest.response_complete:  # type: ignore[redundant-expr]  # None at first
                self._answer(reason)
            else:
                newest.keep_alive = False
                self.flow.pause_reading()
        elif newest.response_started:
            self.close()
        elif self.pipeline:  # the newest waits there, and is closed instead of started
            self._broken = newest
        else:
            # The door has it in hand: it hears that nobody is there any more, and counts nothing.
            newest.scope["state"]["refused"] = True
            newest.disconnected = True
            newest.message_event.set()
            self._answer(reason)

    def close(self) -> None:
        """Close, with what is written still sent, if the sender reads it in time."""
        self.transport.close()
        self._cut_later()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        self._stay()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """The sender does not read its answers; not for ever."""
        super().pause_writing()
        self._cut_later()

    def resume_writing(self) -> None:
        """It reads again."""
        super().resume_writing()
        if not self.transport.is_closing():
            self._stay()

    def on_response_complete(self) -> None:
        """Go on with the next request, or end."""
        super().on_response_complete()
        if self.transport.is_closing():
            self._cut_later()

    def wait_for_next(self) -> None:
        """Be idle, if all is answered: any byte stops the timer that an answer started."""
        if self.cycle.response_complete and not self.transport.is_closing():
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

    def timeout_keep_alive_handler(self) -> None:
        """Nothing came for long."""
        if not self.transport.is_closing():
            self.close()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        if cycle is self._broken:
            self.close()
        else:
            super()._start_asgi_task(cycle, app)

    def _answer(self, reason: Reason) -> None:
        start, body = turned_away(TurnedAway(reason))
        headers = [*self.server_state.default_headers, *start["headers"], (b"connection", b"close")]
        lines = [name + b": " + value + b"\r\n" for name, value in headers]
        head = STATUS_LINE[start["status"]] + b"".join(lines) + b"\r\n"
        self.transport.write(head + body["body"])
        self.close()

    def _cut_later(self) -> None:
        """What is unsent when this is due stays unsent."""
        if self._cut is None:
            self._cut = self.loop.call_later(self.patience_s, self.transport.abort)

    def _stay(self) -> None:
        if self._cut is not None:
            self._cut.cancel()
            self._cut = None
