"""The HTTP server around the door: when it listens, how many it hears, and how it stops.

Owns: uvicorn's options, the room for connections, the line that says the door is open, and an
orderly end.
May not: look at a delivery.
"""

import asyncio
import contextlib
import logging
import resource
import signal
import socket
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Final

import uvicorn
from starlette.types import ASGIApp

from ingest.connection import DoorConnection
from ingest.ending import SERVER_LOG, ConnectionConfig, ConnectionLimits

# Files that are no connection from outside: the broker's, the log, the blobs; with room to spare.
OTHER_FILES: Final = 200

log = logging.getLogger(__name__)


def bound_socket(host: str, port: int) -> socket.socket:
    """A socket that holds the address but does not listen yet. Raises OSError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
    except OSError:
        sock.close()
        raise
    return sock


def room_for(connections: int) -> int:
    """How many connections this process may really hold, of these; raises its limit of open files.

    A process without a file left can neither accept a connection nor reach its broker.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = connections + OTHER_FILES
    if soft < files:
        soft = min(files, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return min(connections, max(1, soft - OTHER_FILES))


class DoorServer(uvicorn.Server):
    """Serves one application on one bound socket until it is told to stop.

    `count` is told the outcome of each connection that ends before it is a delivery.
    """

    def __init__(
        self,
        app: ASGIApp,
        sock: socket.socket,
        *,
        limits: ConnectionLimits,
        count: Callable[[str], None],
        grace: timedelta,
    ) -> None:
        logging.getLogger(SERVER_LOG).setLevel(logging.ERROR)
        super().__init__(
            ConnectionConfig(
                app,
                limits=limits,
                count=count,
                http=DoorConnection,
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=int(grace.total_seconds()) + 1,
            )
        )
        self._sock = sock

    async def run_until_stopped(self) -> None:
        """Serve until SIGTERM, SIGINT or stop(); return when what was in hand is answered."""
        loop = asyncio.get_running_loop()
        for each in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(each, self.stop)
        await self.serve(sockets=[self._sock])

    def connections(self) -> int:
        """How many connections are open."""
        return len(self.server_state.connections)

    def stop(self) -> None:
        """Take no new connection, finish the deliveries in hand, and end."""
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, then say so with the real port."""
        await super().startup(sockets)
        host, port = self._sock.getsockname()[:2]
        shown = f"[{host}]" if ":" in host else host
        log.info("door open", extra={"url": f"http://{shown}:{port}"})

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone: uvicorn would end the process by the signal, and not with 0."""
        yield
