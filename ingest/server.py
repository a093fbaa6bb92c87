"""The HTTP server around the door: when it listens, and how it stops.

Owns: uvicorn's options, the line that says the door is open, and an orderly end.
May not: look at a delivery.
"""

import asyncio
import contextlib
import logging
import signal
import socket
from collections.abc import Iterator
from datetime import timedelta
from typing import Final

import uvicorn
from starlette.types import ASGIApp

# Providers keep connections between deliveries; a minute spares most handshakes.
KEEP_ALIVE_S: Final = 60

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


class DoorServer(uvicorn.Server):
    """Serves one application on one bound socket until it is told to stop."""

    def __init__(self, app: ASGIApp, sock: socket.socket, *, grace: timedelta) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http="httptools",
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_keep_alive=KEEP_ALIVE_S,
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
