"""Run the stand-in as a process: one loopback port, one JSON line when it listens.

Owns: the socket, the server's start and stop, and the cutting of connections.
May not: listen anywhere but on loopback.
"""

import asyncio
import signal
import socket
from typing import Any, Final

import msgspec
import uvicorn
import uvloop
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ops.standin.answers import CUT_EXTENSION
from ops.standin.app import create_app
from ops.standin.clock import Clock
from ops.standin.journal import FileJournal, Journal, NoJournal
from ops.standin.state import Setup, State

LOOPBACK: Final = "127.0.0.1"
# A long poll and a held request are let go first; what still runs then gets this long.
STOP_PATIENCE_SECONDS: Final = 2
BACKLOG: Final = 1024
# Longer than clients keep an idle connection (httpx 5 s, aiohttp 15 s): a server that lets go at
# the same moment cuts a request that is already under way.
KEEP_ALIVE_SECONDS: Final = 60


class CuttingProtocol(HttpToolsProtocol):
    """uvicorn's own protocol, which also lets the app cut the connection."""

    def on_message_begin(self) -> None:
        """Offer the cut to the app, as an ASGI extension."""
        super().on_message_begin()
        extensions: dict[str, Any] = {CUT_EXTENSION: self.transport.abort}
        self.scope["extensions"] = extensions


class AnnouncingServer(uvicorn.Server):
    """Says where it listens once it does, and lets waiting requests go before it stops."""

    def __init__(self, config: uvicorn.Config, *, state: State) -> None:
        super().__init__(config)
        self._state = state

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, then say so on stdout in one line."""
        await super().startup(sockets=sockets)
        host, port = (sockets or [])[0].getsockname()
        print(msgspec.json.encode({"listening": f"http://{host}:{port}"}).decode(), flush=True)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End every wait, then every connection."""
        self._state.let_go()
        await super().shutdown(sockets=sockets)


def bind(port: int) -> socket.socket:
    """A loopback socket on this port, or on any free one for 0. Raises OSError if it is taken."""
    # The protocol is named because asyncio turns Nagle's algorithm off only where it reads TCP;
    # with it on, each answer waits 40 ms for the client's delayed acknowledgement.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((LOOPBACK, port))
    except OSError:
        listener.close()
        raise
    return listener


def serve(listener: socket.socket, *, setup: Setup, journal: FileJournal | None) -> None:
    """Serve until SIGTERM or SIGINT."""
    # uvicorn raises the signal again after its own stop: by then there is nothing left to end.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: None)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(listener, setup=setup, journal=journal))


async def _serve(listener: socket.socket, *, setup: Setup, journal: FileJournal | None) -> None:
    kept: Journal = NoJournal() if journal is None else journal
    state = State(setup, clock=Clock(), journal=kept)
    if journal is not None:
        state.restore(journal.entries())
    config = uvicorn.Config(
        create_app(state),
        http=CuttingProtocol,
        ws="none",
        lifespan="on",
        log_level="warning",
        access_log=False,
        backlog=BACKLOG,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=STOP_PATIENCE_SECONDS,
    )
    await AnnouncingServer(config, state=state).serve(sockets=[listener])
    kept.close()
