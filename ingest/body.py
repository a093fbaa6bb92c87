"""Read a body whole, within a size and a time, and without filling the memory.

Owns: the bounds, counted on what really arrives (a declared length is only a hint), and where the
bytes are while the delivery is in hand: in memory, or above the inline limit in a file that has no
name, so that nothing is left of it when this process dies.
May not: parse, or decompress.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, BinaryIO, Final, cast

import msgspec

from ingest.answers import Reason, TurnedAway
from schemas.blobs import PART_BYTES
from schemas.errors import Transient
from schemas.topics import INLINE_LIMIT_BYTES

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
OpenFile = Callable[[], BinaryIO]

# A line that is slower than this is given up with its body.
SLOWEST_BYTES_PER_S: Final = 1024 * 1024


class ClientGone(Transient):
    """The sender hung up before its body was whole: there is nobody to answer."""


class Room:
    """How many bytes of bodies may be in memory at once, over all deliveries."""

    def __init__(self, size_bytes: int) -> None:
        self._left = self._size_bytes = size_bytes

    def take(self, size_bytes: int) -> None:
        """Have room for so many more. Raises TurnedAway when there is none."""
        if size_bytes > self._left:
            raise TurnedAway(Reason.BUSY)
        self._left -= size_bytes

    def give(self, size_bytes: int) -> None:
        """Give room back."""
        self._left += size_bytes

    def taken(self) -> int:
        """How many bytes are in memory now."""
        return self._size_bytes - self._left


def spool_in(folder: Path) -> OpenFile:
    """Opens files without a name in this folder, which is made when it is needed."""

    def open_file() -> BinaryIO:
        folder.mkdir(parents=True, exist_ok=True)
        return cast("BinaryIO", TemporaryFile(dir=folder))

    return open_file


class Body:
    """The bytes of one delivery. Whoever has it closes it."""

    def __init__(self, room: Room, open_file: OpenFile) -> None:
        self.size_bytes = 0
        self._room = room
        self._open_file = open_file
        self._chunks: list[bytes] = []
        self._held_bytes = 0
        self._file: BinaryIO | None = None
        self._writing: asyncio.Future[None] | None = None

    @property
    def is_inline(self) -> bool:
        """Whether it is in memory, and small enough to stand in a record."""
        return self._file is None

    def whole(self) -> bytes:
        """All of an inline body."""
        if len(self._chunks) != 1:
            self._chunks = [b"".join(self._chunks)]
        return self._chunks[0]

    def parts(self) -> Iterator[bytes]:
        """All of it, from its start. Reads a file, so: not in the event loop."""
        if self._file is None:
            yield self.whole()
            return
        self._file.seek(0)
        while part := self._file.read(PART_BYTES):
            yield part

    async def add(self, chunk: bytes) -> None:
        """Have some more of it. Raises TurnedAway where there is no room for it."""
        self._room.take(len(chunk))
        self._held_bytes += len(chunk)
        self.size_bytes += len(chunk)
        self._chunks.append(chunk)
        if self._held_bytes > (INLINE_LIMIT_BYTES if self._file is None else PART_BYTES):
            await self.spill()

    async def spill(self) -> None:
        """Move what is in memory into the file. Raises TurnedAway when the disk is full."""
        loop = asyncio.get_running_loop()
        self._writing = loop.run_in_executor(None, self._write, self._chunks)
        try:
            await asyncio.shield(self._writing)
        except OSError as error:
            raise TurnedAway(Reason.BLOBS_AWAY) from error
        self._forget()

    def close(self) -> None:
        """Give all of it back; the file, once it is no longer written."""
        self._forget()
        if self._writing is None or self._writing.done():
            self._close_file()
        else:
            self._writing.add_done_callback(self._close_file)

    def _close_file(self, writing: "asyncio.Future[None] | None" = None) -> None:
        if writing is not None:
            writing.exception()  # looked at, so that it is not taken for one that was missed
        if self._file is not None:
            with suppress(OSError):  # what a full disk did not take is not wanted any more
                self._file.close()

    def _write(self, chunks: list[bytes]) -> None:
        if self._file is None:
            self._file = self._open_file()
        self._file.writelines(chunks)
        self._file.flush()

    def _forget(self) -> None:
        self._chunks = []
        self._room.give(self._held_bytes)
        self._held_bytes = 0


class Reader(msgspec.Struct, frozen=True, kw_only=True):
    """How bodies are read: how long each may be, how long it may take, and where its bytes go."""

    limit_bytes: int
    deadline: timedelta
    room: Room
    open_file: OpenFile

    async def read(self, receive: Receive) -> Body:
        """The whole body, to be closed.

        Raises TurnedAway when it is longer than the limit, finds no room, or is not whole by the
        deadline, which moves with what has come. Raises ClientGone when the sender hangs up.
        """
        body = Body(self.room, self.open_file)
        try:
            async with asyncio.timeout(self.deadline.total_seconds()) as due:
                await self._fill(body, receive, due)
        except TimeoutError:
            body.close()
            raise TurnedAway(Reason.BODY_TOO_SLOW) from None
        except BaseException:
            body.close()
            raise
        return body

    async def _fill(self, body: Body, receive: Receive, due: asyncio.Timeout) -> None:
        due_at_s, is_more = due.when() or 0.0, True
        while is_more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ClientGone("the sender hung up")
            chunk: bytes = message.get("body", b"")
            if body.size_bytes + len(chunk) > self.limit_bytes:
                raise TurnedAway(Reason.BODY_TOO_LARGE)
            is_more = message.get("more_body", False)
            await body.add(chunk)
            if not body.is_inline:
                due.reschedule(due_at_s + body.size_bytes / SLOWEST_BYTES_PER_S)
        if not body.is_inline:
            await body.spill()
