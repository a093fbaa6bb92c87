import asyncio
import random
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import pytest

from ingest.answers import Reason, TurnedAway
from ingest.body import Body, ClientGone, Reader, Room
from schemas.topics import INLINE_LIMIT_BYTES
from tests.doors import LocalDoor, arriving, never

AGES = timedelta(hours=1)


def a_reader(*, limit_bytes: int = 3, room: Room | None = None, **changed: Any) -> Reader:
    """A reader that waits for ages."""
    given: dict[str, Any] = {"deadline": AGES, "open_file": TemporaryFile, **changed}
    return Reader(limit_bytes=limit_bytes, room=room or Room(10_000_000), **given)


def content(body: Body) -> bytes:
    """All of it, wherever it lies."""
    return b"".join(body.parts())


def test_chunks_are_one_body() -> None:
    """The signature covers the whole."""
    body = asyncio.run(a_reader().read(arriving(b"a", b"", b"bc")))

    assert (body.whole(), body.size_bytes) == (b"abc", 3)


def test_body_of_exactly_the_limit_is_read() -> None:
    """A limit that is off by one refuses what was promised."""
    body = asyncio.run(a_reader().read(arriving(b"abc")))

    assert body.whole() == b"abc"


@pytest.mark.parametrize("chunks", [(b"abcd",), (b"ab", b"cd"), (b"a", b"b", b"c", b"d")])
def test_body_above_the_limit_is_refused_however_it_comes(chunks: tuple[bytes, ...]) -> None:
    """A chunked body declares no length."""
    with pytest.raises(TurnedAway) as refused:
        asyncio.run(a_reader().read(arriving(*chunks)))

    assert refused.value.reason == Reason.BODY_TOO_LARGE


def test_body_that_stalls_is_given_up_at_the_deadline() -> None:
    """A sender that sends a byte a minute would hold its place for ever."""
    with pytest.raises(TurnedAway) as refused:
        asyncio.run(a_reader(deadline=timedelta(milliseconds=1)).read(never))

    assert refused.value.reason == Reason.BODY_TOO_SLOW


def test_sender_that_hangs_up_is_not_answered() -> None:
    """Half a body is no event, and there is nobody to tell."""
    with pytest.raises(ClientGone):
        asyncio.run(a_reader().read(arriving()))


def test_sender_that_hangs_up_is_counted() -> None:
    """Many of them are a sign of a timeout in between."""
    door = LocalDoor()

    with pytest.raises(ValueError, match="not enough values"):
        door.ask(arriving())

    line = 'onereply_door_deliveries_total{outcome="sender-gone",source="agentmail"} 1.0'
    assert line in door.metrics.page().decode()


def test_declared_length_above_the_limit_is_refused_unread() -> None:
    """Nobody has to wait for a body that will be thrown away."""
    reply = LocalDoor().ask(never, headers=[(b"content-length", b"99999999999999999999999")])

    assert reply.status == 413


LARGE = INLINE_LIMIT_BYTES * 3


@pytest.mark.parametrize("size_bytes", [INLINE_LIMIT_BYTES - 1, INLINE_LIMIT_BYTES])
def test_body_up_to_the_inline_limit_stays_in_memory(size_bytes: int) -> None:
    """It goes into a record as it is, and a disk would only make it slower."""
    body = asyncio.run(a_reader(limit_bytes=LARGE).read(arriving(b"x" * size_bytes)))

    assert body.is_inline


@pytest.mark.parametrize("chunk_bytes", [1000, 65_536, INLINE_LIMIT_BYTES + 1])
def test_larger_body_comes_back_from_its_file_and_takes_no_room(chunk_bytes: int) -> None:
    """Twenty of 35 MB at once are more than a process may take."""
    room, sent = Room(3 * INLINE_LIMIT_BYTES), random.Random(1).randbytes(INLINE_LIMIT_BYTES + 7)
    chunks = [sent[at : at + chunk_bytes] for at in range(0, len(sent), chunk_bytes)]

    body = asyncio.run(a_reader(limit_bytes=LARGE, room=room).read(arriving(*chunks)))

    assert (body.is_inline, body.size_bytes, room.taken()) == (False, len(sent), 0)
    assert (content(body), content(body)) == (sent, sent)
    body.close()


def test_bodies_in_hand_have_one_room_together() -> None:
    """A thousand bodies of half a MiB are each within the limit, and together they are not."""
    room = Room(10)
    reader = a_reader(limit_bytes=8, room=room)
    first = asyncio.run(reader.read(arriving(b"x" * 8)))

    with pytest.raises(TurnedAway) as refused:
        asyncio.run(reader.read(arriving(b"x" * 2, b"x" * 2)))
    first.close()
    second = asyncio.run(reader.read(arriving(b"x" * 8)))

    assert refused.value.reason == Reason.BUSY
    second.close()
    assert room.taken() == 0


@pytest.mark.parametrize("way", ["stalls", "hangs up", "is too long"])
def test_body_that_is_given_up_leaves_nothing(way: str) -> None:
    """A sender that tries again and again would fill the room, or the disk."""
    room, opened = Room(LARGE), list[Any]()

    def open_file() -> Any:
        opened.append(TemporaryFile())  # noqa: SIM115  # the body closes it
        return opened[-1]

    async def receive() -> dict[str, Any]:
        if not opened:
            return {"type": "http.request", "body": b"x" * 65_536, "more_body": True}
        if way == "stalls":
            await never()
        if way == "hangs up":
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": b"x" * LARGE}

    reader = a_reader(
        limit_bytes=LARGE, room=room, open_file=open_file, deadline=timedelta(milliseconds=1)
    )
    with pytest.raises((TurnedAway, ClientGone)):
        asyncio.run(reader.read(receive))  # ends after the threads that it started

    assert (room.taken(), [each.closed for each in opened]) == (0, [True])


def test_deadline_moves_with_what_has_come() -> None:
    """35 MB over a plain line take longer than a dripping sender may."""
    body = asyncio.run(read_late())

    assert body.size_bytes == 4 * INLINE_LIMIT_BYTES
    body.close()


async def read_late() -> Body:
    """A body whose second half comes well after the deadline for its first byte."""
    loop = asyncio.get_running_loop()
    parts = [b"x" * 2 * INLINE_LIMIT_BYTES] * 2

    async def receive() -> dict[str, Any]:
        part = parts.pop()
        if not parts:
            later: asyncio.Future[None] = loop.create_future()
            loop.call_later(0.1, later.set_result, None)
            await later
        return {"type": "http.request", "body": part, "more_body": bool(parts)}

    reader = a_reader(limit_bytes=10**8, deadline=timedelta(milliseconds=50))
    return await reader.read(receive)


def test_disk_that_is_full_is_503() -> None:
    """Nothing of it is kept, so the sender has to come again."""
    with Path("/dev/full").open("wb", buffering=0) as full:
        door = LocalDoor(body_bytes=LARGE, open_file=lambda: full)

        reply = door.ask(b"x" * LARGE)

    assert (reply.status, reply.reason) == (503, "blob-store-away")
    assert door.room.taken() == 0
