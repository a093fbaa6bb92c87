"""Connections that our AgentMail client keeps, and a provider that closes them."""

import asyncio
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from processors.core.outcomes import Answer, Failure
from tests.contract.agentmail_calls import DEADLINE_S, a_post, open_gate
from tests.contract.wire import Wire, calling, listening, response, saying_and_closing

ACCEPTED = Answer(status=200, message_id="<r@x.example>", thread_id="thd")


@dataclass(kw_only=True)
class Peer:
    """A provider on plain sockets, whose closing is felt by the other side at once.

    It closes its first connection when a guard is asked for the `closes_at`th time. That happens
    twice for each post: when it begins, and when it is about to be written.
    """

    server: socket.socket
    closes_at: int = 0
    linger: int = 0
    asked: int = 0
    seen: bytearray = field(default_factory=bytearray)
    connections: list[socket.socket] = field(default_factory=list)

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server.getsockname()[1]}"

    def guard(self) -> None:
        """Let every request pass."""
        self.asked += 1
        if self.asked == self.closes_at:
            lingering = struct.pack("ii", self.linger, 0)
            self.connections[0].setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, lingering)
            self.connections[0].close()

    async def serve(self, connections: int) -> None:
        """Accept the one request of each of so many connections."""
        loop = asyncio.get_running_loop()
        for nth in range(1, connections + 1):
            connection, _ = await loop.sock_accept(self.server)
            self.connections.append(connection)
            while self.seen.count(a_post().request.body) < nth:
                self.seen.extend(await loop.sock_recv(connection, 65536))
            await loop.sock_sendall(connection, response())


@pytest.fixture
def peer() -> Iterator[Peer]:
    """A provider that listens, and has no connection yet."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0)
        made = Peer(server=server)
        yield made
        for each in made.connections:
            each.close()


async def posted_twice(peer: Peer, *, connections: int) -> list[Answer]:
    """What two posts come to, where the provider serves so many connections."""
    async with calling(peer.url) as client, asyncio.timeout(2 * DEADLINE_S):
        serving = asyncio.create_task(peer.serve(connections))
        answers = [
            await client.post(a_post(), guard=peer.guard, timeout_s=DEADLINE_S) for _ in range(2)
        ]
        await serving
    return answers


@pytest.mark.parametrize("linger", [1, 0], ids=["reset", "closed"])
def test_post_is_not_repeated_when_its_kept_connection_goes(peer: Peer, linger: int) -> None:
    """The provider closes while we write: whether it read us is not known."""
    peer.closes_at, peer.linger = 4, linger

    answers = asyncio.run(posted_twice(peer, connections=1))

    assert answers == [ACCEPTED, Answer(failure=Failure.CONNECTION)]
    assert peer.seen.count(b"POST ") == 1
    with pytest.raises(BlockingIOError):
        peer.server.accept()


def test_connection_that_was_just_closed_is_not_written_to(peer: Peer) -> None:
    """The loop has not heard of it yet when the call begins, and hears of it first."""
    peer.closes_at = 3

    answers = asyncio.run(posted_twice(peer, connections=2))

    assert (answers, peer.seen.count(b"POST ")) == ([ACCEPTED, ACCEPTED], 2)


def test_post_after_the_provider_closed_takes_a_new_connection() -> None:
    """A connection that is known to be closed is not written to."""

    async def made() -> tuple[list[Answer], Wire]:
        async with (
            listening(saying_and_closing(response())) as wire,
            calling(wire.url) as client,
        ):
            answers = []
            for _ in range(2):
                answers.append(await client.post(a_post(), guard=open_gate, timeout_s=DEADLINE_S))
                await asyncio.wait_for(wire.ended.wait(), DEADLINE_S)
                wire.ended.clear()
        return answers, wire

    answers, wire = asyncio.run(made())

    assert (answers, len(wire.requests)) == ([ACCEPTED, ACCEPTED], 2)
