"""What our AgentMail client puts on the wire, and how often."""

import asyncio
import socket
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace

import pytest
from msgspec import structs

from processors.core.outcomes import Answer, Failure
from processors.providers import account_http
from tests.contract.agentmail_calls import (
    DEADLINE_S,
    ODD_IDS,
    SHORT_S,
    Withheld,
    a_look,
    a_post,
    open_gate,
    post,
)
from tests.contract.wire import (
    Asked,
    Wire,
    calling,
    listening,
    response,
    saying,
    saying_and_closing,
)

ACCEPTED = Answer(status=200, message_id="<r@x.example>", thread_id="thd")


def closing_at(*turns: int) -> Callable[[], None]:
    """A guard that withholds when it is asked for these times, counted from 1."""
    asked: list[None] = []

    def guard() -> None:
        asked.append(None)
        if len(asked) in turns:
            raise Withheld

    return guard


@pytest.mark.parametrize("message_id", ODD_IDS)
def test_address_is_sent_as_it_was_built(message_id: str) -> None:
    """A slash that is decoded on the way names another message."""
    call = a_post(message_id)
    stored = structs.replace(call.request, query="a=b%2Fc%20d")

    async def target() -> str:
        async with listening(saying(response())) as wire, calling(wire.url) as client:
            await client.post(replace(call, request=stored), guard=open_gate, timeout_s=DEADLINE_S)
        return wire.requests[0].line

    assert asyncio.run(target()) == f"POST {call.request.path}?a=b%2Fc%20d HTTP/1.1"


def test_request_holds_its_key_and_its_bytes() -> None:
    """The provider compares both."""

    async def asked() -> Asked:
        async with listening(saying(response())) as wire, calling(wire.url) as client:
            await client.post(a_post(), guard=open_gate, timeout_s=DEADLINE_S)
        return wire.requests[0]

    request = asyncio.run(asked())

    call = a_post()
    assert request.body == call.request.body
    names = ("authorization", "content-type", "idempotency-key", "content-length")
    assert [request.headers[name] for name in names] == [
        "Bearer am_test",
        "application/json",
        call.idempotency_key,
        str(len(call.request.body)),
    ]


@pytest.mark.parametrize("value", ["a\r\nX: b", "a\nb", "a\0b", "\u00fc", "\u20ac", "\ud800"])
@pytest.mark.parametrize("name", ["key", "content_type"])
def test_value_that_cannot_stand_in_a_header_is_not_sent(name: str, value: str) -> None:
    """It would end the header, or be read as something else."""
    call = a_post(key=value) if name == "key" else a_post()
    if name == "content_type":
        call = replace(call, request=structs.replace(call.request, content_type=value))

    async def made() -> tuple[Answer, Wire]:
        async with listening(saying(response())) as wire, calling(wire.url) as client:
            return await client.post(call, guard=open_gate, timeout_s=DEADLINE_S), wire

    answer, wire = asyncio.run(made())

    assert (answer, wire.received) == (Answer(failure=Failure.UNCONFIGURED), [])


@pytest.mark.parametrize(
    "url",
    ["http://", "ftp://127.0.0.1", "http://[::1", "http://127.0.0.1:1x", "http://a:b@127.0.0.1"],
)
def test_address_that_is_none_is_not_called(url: str) -> None:
    """The account is not usable until somebody mends it."""
    assert post(url, a_post()) == [Answer(failure=Failure.UNCONFIGURED)]


def test_withheld_request_leaves_no_byte_on_a_new_connection() -> None:
    """The connection is there, and nothing was said on it; the next call has another."""

    async def made() -> tuple[Answer, list[int]]:
        guard = closing_at(2)
        async with listening(saying(response())) as wire, calling(wire.url) as client:
            with pytest.raises(Withheld):
                await client.post(a_post(), guard=guard, timeout_s=DEADLINE_S)
            await asyncio.wait_for(wire.ended.wait(), DEADLINE_S)
            answer = await client.post(a_post(), guard=guard, timeout_s=DEADLINE_S)
        return answer, wire.received

    answer, received = asyncio.run(made())

    assert (answer, received[0], len(received)) == (ACCEPTED, 0, 2)


def test_withheld_request_leaves_no_byte_on_a_kept_connection() -> None:
    """As on a new one."""

    async def made() -> tuple[Answer, list[int], int]:
        guard = closing_at(4)
        async with listening(saying(response())) as wire, calling(wire.url) as client:
            await client.post(a_post(), guard=guard, timeout_s=DEADLINE_S)
            (before,) = wire.received
            with pytest.raises(Withheld):
                await client.post(a_post(), guard=guard, timeout_s=DEADLINE_S)
            await asyncio.wait_for(wire.ended.wait(), DEADLINE_S)
            answer = await client.post(a_post(), guard=guard, timeout_s=DEADLINE_S)
        return answer, wire.received, before

    answer, received, before = asyncio.run(made())

    assert (answer, received) == (ACCEPTED, [before, before])


def test_nothing_runs_between_the_guard_and_the_first_byte() -> None:
    """What the guard has seen must still hold when the request leaves."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        came: list[bytes] = []
        accepted: list[socket.socket] = []

        def guard() -> None:
            if not accepted:
                # Asked before a connection is looked for.
                accepted.append(server)
                return
            connection, _ = server.accept()
            connection.settimeout(0)
            accepted.append(connection)
            # What runs next in the loop finds the request on the other side already.
            asyncio.get_running_loop().call_soon(answer, connection)

        def answer(connection: socket.socket) -> None:
            came.append(connection.recv(65536))
            connection.sendall(response())

        found = post(f"http://127.0.0.1:{server.getsockname()[1]}", a_post(), guard=guard)
        accepted[1].close()

    assert found == [ACCEPTED]
    assert came[0].startswith(b"POST /v0/")
    assert came[0].endswith(a_post().request.body)


def test_call_that_met_a_broken_connection_is_made_once() -> None:
    """When to try again is for the core to say, for a look as well."""

    async def made() -> tuple[Answer, Answer, int]:
        async with listening(saying_and_closing(b"")) as wire, calling(wire.url) as client:
            looked = await client.look_up(a_look("thd"), timeout_s=DEADLINE_S)
            posted = await client.post(a_post(), guard=open_gate, timeout_s=DEADLINE_S)
        return looked.answer, posted, len(wire.requests)

    broken = Answer(failure=Failure.CONNECTION)
    assert asyncio.run(made()) == (broken, broken, 2)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirect_is_an_answer_and_not_followed(status: int) -> None:
    """The key is for this host alone, and a post is made once."""
    away = response(b"", status=status, headers={"Location": "/v0/elsewhere"})

    async def made() -> tuple[Answer, Answer, int]:
        async with listening(saying(away)) as wire, calling(wire.url) as client:
            looked = await client.look_up(a_look("thd"), timeout_s=DEADLINE_S)
            posted = await client.post(a_post(), guard=open_gate, timeout_s=DEADLINE_S)
        return looked.answer, posted, len(wire.requests)

    assert asyncio.run(made()) == (Answer(status=status), Answer(status=status), 2)


def test_cookie_is_not_kept() -> None:
    """Calls of one account must not be told apart by what came before."""
    baking = response(headers={"Set-Cookie": "a=b; Path=/"})

    async def made() -> list[Asked]:
        async with listening(saying(baking)) as wire, calling(wire.url) as client:
            for _ in range(2):
                await client.post(a_post(), guard=open_gate, timeout_s=DEADLINE_S)
        return wire.requests

    assert ["cookie" in each.headers for each in asyncio.run(made())] == [False, False]


def test_calls_share_connections_and_close_them() -> None:
    """One after the other needs one; a closed client leaves none."""

    async def made() -> list[int]:
        async with listening(saying(response())) as wire:
            async with calling(wire.url) as client:
                for _ in range(3):
                    await client.post(a_post(), guard=open_gate, timeout_s=DEADLINE_S)
            await asyncio.wait_for(wire.ended.wait(), DEADLINE_S)
        return wire.received

    assert len(asyncio.run(made())) == 1


def test_calls_wait_for_a_connection_and_then_give_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections are bounded, and who got none has sent nothing."""
    monkeypatch.setattr(account_http, "MOST_CONNECTIONS", 1)

    async def made() -> tuple[Answer, int]:
        asked = asyncio.Event()

        async def hold(_asked: Asked, _writer: asyncio.StreamWriter) -> None:
            asked.set()

        async with listening(hold) as wire, calling(wire.url) as client:
            first = asyncio.create_task(
                client.post(a_post(), guard=open_gate, timeout_s=DEADLINE_S)
            )
            await asyncio.wait_for(asked.wait(), DEADLINE_S)
            second = await client.post(a_post(), guard=open_gate, timeout_s=SHORT_S)
            first.cancel()
            await asyncio.gather(first, return_exceptions=True)
        return second, len(wire.received)

    assert asyncio.run(made()) == (Answer(failure=Failure.UNREACHED), 1)
