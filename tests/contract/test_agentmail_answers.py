"""What our AgentMail client makes of answers that are not what they should be."""

import asyncio
import gzip
import tracemalloc
import zlib

import pytest

from processors.core.outcomes import Answer, Failure, Looked
from processors.providers.agentmail_client import MOST_ANSWER_BYTES, MOST_PAGE_BYTES
from tests.contract.agentmail_calls import DEADLINE_S, SHORT_S, a_look, a_post, open_gate
from tests.contract.wire import (
    RECEIPT,
    calling,
    listening,
    response,
    saying,
    saying_and_closing,
)
from tests.contract.wire import Answer as Say

BROKEN = Answer(failure=Failure.CONNECTION)
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
GZIP = {"Content-Encoding": "gzip"}


def answers(say: Say, *, timeout_s: float = DEADLINE_S) -> tuple[Answer, Looked, int]:
    """What a post and a look come to there, and how many requests the provider saw."""

    async def made() -> tuple[Answer, Looked, int]:
        async with listening(say) as wire, calling(wire.url) as client:
            posted = await client.post(a_post(), guard=open_gate, timeout_s=timeout_s)
            looked = await client.look_up(a_look("thd"), timeout_s=timeout_s)
        return posted, looked, len(wire.requests)

    return asyncio.run(made())


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"nonsense\r\n\r\n",
        b"HTTP/1.1 abc OK\r\n\r\n",
        b"HTTP/9.9 2000 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 5_000 + b"\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: abc\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n" + RECEIPT,
        CHUNKED + b"5\r\nab",
        CHUNKED + b"zz\r\nabc\r\n0\r\n\r\n",
        CHUNKED + b"2\r\nabXX0\r\n\r\n",
        CHUNKED + b"2\r\nab\r\n",
        response(b"no gzip", headers=GZIP),
        CHUNKED[:-2] + b"Content-Encoding: gzip\r\n\r\n4\r\nabcd\r\n0\r\n\r\n",
        response(b"\x0b\x02\x80", headers={"Content-Encoding": "br"}),
        b"HTTP/1.1 100 Continue\r\n\r\n" * 1_000,
        b"\0\xff" * 50_000,
    ],
    ids=[
        "nothing",
        "no-status-line",
        "no-status",
        "no-version",
        "no-header",
        "long-header",
        "many-headers",
        "no-length",
        "truncated",
        "truncated-chunk",
        "no-chunk-size",
        "chunk-without-end",
        "no-last-chunk",
        "no-gzip",
        "no-gzip-chunked",
        "unknown-coding",
        "only-interim",
        "noise",
    ],
)
def test_answer_that_is_none_is_a_broken_connection(said: bytes) -> None:
    """Something was sent, and what became of it is not known."""
    assert answers(saying_and_closing(said)) == (BROKEN, Looked(answer=BROKEN), 2)


@pytest.mark.parametrize(
    "said",
    [
        b"HTTP/1.1 101 Else\r\nConnection: close, upgrade\r\nUpgrade: x\r\n\r\n",
        response(b"", status=204),
        response(b"", status=304),
        response(b"[" * 100_000),
        response(b"\xff\xfe"),
        response(b"[]"),
    ],
    ids=["101", "204", "304", "deep", "no-text", "list"],
)
def test_answer_that_says_nothing_names_no_mail(said: bytes) -> None:
    """It has a status, and that is all."""
    posted, _, count = answers(saying(said))

    assert (posted, count) == (Answer(status=int(said[9:12])), 2)


def test_answer_that_never_ends_costs_its_time() -> None:
    """A head without its body is no answer yet."""
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{"

    late = Answer(failure=Failure.TIMEOUT)
    assert answers(saying(head), timeout_s=SHORT_S) == (late, Looked(answer=late), 2)


@pytest.mark.parametrize("length", [MOST_ANSWER_BYTES + 1, 3 * MOST_ANSWER_BYTES])
def test_long_answer_is_not_read_to_its_end(length: int) -> None:
    """Its status counts, and the connection is given up with the rest."""
    posted, _, count = answers(saying(response(b" " * length)))

    assert (posted, count) == (Answer(status=200), 2)


def test_compressed_answer_is_read() -> None:
    """Providers compress what we say we can read."""
    posted, _, _ = answers(saying(response(gzip.compress(RECEIPT), headers=GZIP)))

    assert posted == Answer(status=200, message_id="<r@x.example>", thread_id="thd")


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_compressed_answer_is_not_unpacked_past_the_limit(coding: str) -> None:
    """A hundred kilobytes may hold a hundred megabytes."""
    packing = zlib.compressobj(wbits=31 if coding == "gzip" else 15)
    zeros = b"\0" * MOST_ANSWER_BYTES
    packed = b"".join(packing.compress(zeros) for _ in range(100)) + packing.flush()
    say = saying(response(packed, headers={"Content-Encoding": coding}))

    async def made() -> tuple[Answer, int]:
        async with listening(say) as wire, calling(wire.url) as client:
            tracemalloc.start()
            try:
                answer = await client.post(a_post(), guard=open_gate, timeout_s=DEADLINE_S)
                return answer, tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()

    answer, peak = asyncio.run(made())

    assert answer == Answer(status=200)
    # The body so far, its growing copy, and a piece or two.
    assert peak < 4 * MOST_ANSWER_BYTES


def test_page_of_a_thread_may_be_longer_than_an_answer() -> None:
    """A hundred mails are."""
    page = b'{"messages": []}' + b" " * (MOST_ANSWER_BYTES + 1)
    assert len(page) < MOST_PAGE_BYTES

    _, looked, _ = answers(saying(response(page)))

    assert looked == Looked(answer=Answer(status=200))


def test_time_to_wait_that_is_no_text_is_not_passed_on() -> None:
    """It could stand in no topic."""
    told = b"HTTP/1.1 429 Slow\r\nRetry-After: \xff7\r\nContent-Length: 0\r\n\r\n"

    posted, _, _ = answers(saying(told))

    assert posted == Answer(status=429)
