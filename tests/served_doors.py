"""A door behind its real server, and raw lines to it.

Owns: a thread with the server's loop, and a socket that hears what comes back.
May not: know what is right; it sends bytes and reads bytes.
"""

import select
import socket
import threading
import time
from datetime import timedelta
from functools import partial
from types import TracebackType
from typing import Any, Final, Self

import uvloop

from ingest.ending import ConnectionLimits
from ingest.metrics import UNKNOWN
from ingest.server import DoorServer, bound_socket
from tests.doors import LocalDoor
from tests.processes import DEADLINE_S

# So long that no test waits for it, and so short that a test can.
LONG: Final = timedelta(minutes=10)
SHORT: Final = timedelta(milliseconds=50)
# What the sockets between two loops may hold, by far.
IN_BETWEEN_BYTES: Final = 16 * 1024 * 1024


class _Announcing(DoorServer):
    """Sets `opened` once it listens."""

    opened: threading.Event

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and tell."""
        await super().startup(sockets)
        self.opened.set()


class ServedDoor:
    """A local door that listens on loopback as long as its context is open."""

    def __init__(
        self,
        *,
        connections: int = 1_000,
        patience: timedelta = LONG,
        idle: timedelta = LONG,
        **limits: Any,
    ) -> None:
        self.door = LocalDoor(**limits)
        sock = bound_socket("127.0.0.1", 0)
        self._address = sock.getsockname()
        self._sock = sock
        self.server = _Announcing(
            self.door.app,
            sock,
            limits=ConnectionLimits(connections=connections, patience=patience, idle=idle),
            count=partial(self.door.metrics.settled, UNKNOWN),
            grace=timedelta(seconds=1),
        )
        self.server.opened = threading.Event()
        self._thread = threading.Thread(target=self._serve)

    def __enter__(self) -> Self:
        self._thread.start()
        assert self.server.opened.wait(DEADLINE_S), "the door does not listen"
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.server.stop()
        self._thread.join(DEADLINE_S)
        self._sock.close()

    def line(self) -> "Line":
        """A new connection."""
        return Line(socket.create_connection(self._address, DEADLINE_S))

    def said(self, *parts: bytes) -> bytes:
        """All that comes back for these bytes until the door closes."""
        with self.line() as line:
            for part in parts:
                line.send(part)
            return line.rest()

    def counted(self, outcome: str) -> int:
        """How many deliveries and connections ended so."""
        found = 0.0
        for each in self.door.metrics.page().decode().splitlines():
            if each.startswith("onereply_door_deliveries_total") and f'"{outcome}"' in each:
                found += float(each.rpartition(" ")[2])
        return int(found)

    def wait_for_answers(self, number: int) -> bool:
        """Return once so many are written since it opened; False when every connection is gone."""
        give_up_at_s = time.monotonic() + DEADLINE_S
        while self.server.server_state.total_requests < number:
            if self.server.connections() == 0:
                return False
            assert time.monotonic() < give_up_at_s, f"not {number} answers"
        return True

    def wait_for_connections(self, number: int) -> None:
        """Return once this many are open."""
        give_up_at_s = time.monotonic() + DEADLINE_S
        while self.server.connections() != number:
            assert time.monotonic() < give_up_at_s, f"not {number} connections"

    def _serve(self) -> None:
        uvloop.run(self.server.serve(sockets=[self._sock]))


class Line:
    """One connection to a door."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._sock.close()

    def send(self, data: bytes) -> None:
        """Send all of it."""
        self._sock.sendall(data)

    def send_for_ever(self, data: bytes) -> None:
        """Send until the door has closed. Reads nothing."""
        for _ in range(IN_BETWEEN_BYTES // len(data)):
            try:
                self._sock.sendall(data)
            except ConnectionError:
                return
        raise AssertionError("the door goes on listening")

    def send_until_answered(self, part: bytes) -> None:
        """Send this part again and again until something comes back."""
        for _ in range(IN_BETWEEN_BYTES // len(part)):
            if not self.is_open():
                return
            try:
                self._sock.sendall(part)
            except ConnectionError:  # the answer is there, and the end behind it
                return
        raise AssertionError("the door does not answer")

    def answer(self, end: bytes = b"}") -> bytes:
        """What comes back up to these bytes, which end our JSON."""
        heard = b""
        while not heard.endswith(end):
            part = self._sock.recv(65_536)
            assert part, f"closed after {heard!r}"
            heard += part
        return heard

    def rest(self) -> bytes:
        """What comes back until the door closes."""
        heard = b""
        while part := self._part():
            heard += part
        return heard

    def is_open(self) -> bool:
        """Whether the door neither closed nor said anything."""
        return select.select([self._sock], [], [], 0)[0] == []

    def _part(self) -> bytes:
        try:
            return self._sock.recv(65_536)
        except ConnectionResetError:  # closed with something unread
            return b""
