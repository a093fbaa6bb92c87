import asyncio
from datetime import timedelta

import pytest

from ingest.answers import Reason, TurnedAway
from ingest.body import ClientGone, read_body
from tests.doors import LocalDoor, arriving, never

AGES = timedelta(hours=1)


def test_chunks_are_one_body() -> None:
    """The signature covers the whole."""
    body = asyncio.run(read_body(arriving(b"a", b"", b"bc"), limit_bytes=3, deadline=AGES))

    assert body == b"abc"


def test_body_of_exactly_the_limit_is_read() -> None:
    """A limit that is off by one refuses what was promised."""
    body = asyncio.run(read_body(arriving(b"abc"), limit_bytes=3, deadline=AGES))

    assert body == b"abc"


@pytest.mark.parametrize("chunks", [(b"abcd",), (b"ab", b"cd"), (b"a", b"b", b"c", b"d")])
def test_body_above_the_limit_is_refused_however_it_comes(chunks: tuple[bytes, ...]) -> None:
    """A chunked body declares no length."""
    with pytest.raises(TurnedAway) as refused:
        asyncio.run(read_body(arriving(*chunks), limit_bytes=3, deadline=AGES))

    assert refused.value.reason == Reason.BODY_TOO_LARGE


def test_body_that_stalls_is_given_up_at_the_deadline() -> None:
    """A sender that sends a byte a minute would hold its place for ever."""
    with pytest.raises(TurnedAway) as refused:
        asyncio.run(read_body(never, limit_bytes=3, deadline=timedelta(milliseconds=1)))

    assert refused.value.reason == Reason.BODY_TOO_SLOW


def test_sender_that_hangs_up_is_not_answered() -> None:
    """Half a body is no event, and there is nobody to tell."""
    with pytest.raises(ClientGone):
        asyncio.run(read_body(arriving(), limit_bytes=3, deadline=AGES))


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
