"""What one connection may send before anybody knows who it is, on a real socket."""

import json
import random
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta

import pytest

from ingest.answers import ANSWERS, Reason
from ingest.connection import (
    MAX_FRAMING_BYTES,
    MAX_HEAD_BYTES,
    MAX_HEADERS,
    MAX_PIPELINED,
    MAX_URL_BYTES,
)
from tests.doors import signed
from tests.payloads import an_event
from tests.served_doors import ServedDoor

POST = b"POST /webhooks/agentmail HTTP/1.1\r\nhost: x\r\n"
CHUNKED = POST + b"transfer-encoding: chunked\r\n\r\n"
PAGE = b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n"
ALIVE = b'{"alive":true}'


@pytest.fixture(scope="module")
def served() -> Iterator[ServedDoor]:
    """A door that waits for ever, so that only what is sent can end a connection."""
    with ServedDoor() as served:
        yield served


def a_delivery(event_id: str = "evt_1", more: bytes = b"") -> bytes:
    """A genuine request."""
    body = an_event(event_id=event_id)
    headers = b"".join(name + b": " + value + b"\r\n" for name, value in signed(body))
    return POST + headers + more + b"content-length: %d\r\n\r\n" % len(body) + body


def parsed(answer: bytes) -> tuple[int, str]:
    """The status and the reason of an answer."""
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"\r\ncontent-type: application/json\r\n" in head + b"\r\n"
    assert b"\r\nconnection: close" in head
    return int(head.split(b" ", 2)[1]), json.loads(body)["reason"]


# A start, and what goes on for ever behind it.
ENDLESS: dict[str, tuple[bytes, bytes, Reason]] = {
    "headers": (POST, b"a: b\r\n", Reason.HEADERS_TOO_LARGE),
    "value": (POST + b"a: ", b"x", Reason.HEADERS_TOO_LARGE),
    "name": (POST, b"x", Reason.HEADERS_TOO_LARGE),
    "empty lines": (b"", b"\r\n", Reason.HEADERS_TOO_LARGE),
    "url": (b"POST /", b"x", Reason.URL_TOO_LONG),
    "query": (b"GET http://x/?", b"x", Reason.URL_TOO_LONG),
    "trailers": (CHUNKED + b"2\r\n{}\r\n0\r\n", b"a: b\r\n", Reason.FRAMING_TOO_LARGE),
    "trailer": (CHUNKED + b"2\r\n{}\r\n0\r\na: ", b"x", Reason.FRAMING_TOO_LARGE),
    "chunk extension": (CHUNKED + b"2;x=", b"x", Reason.FRAMING_TOO_LARGE),
    "chunk size": (CHUNKED, b"0", Reason.FRAMING_TOO_LARGE),
    "tiny chunks": (CHUNKED, b"1;xxxxxxxx\r\nx\r\n", Reason.FRAMING_TOO_LARGE),
}


@pytest.mark.parametrize("kind", ENDLESS)
def test_what_never_ends_is_cut(served: ServedDoor, kind: str) -> None:
    """A parser keeps what is unfinished: sixty such megabytes were more than a gigabyte."""
    start, again, _ = ENDLESS[kind]

    with served.line() as line:
        line.send(start)
        line.send_for_ever(again * (60_000 // len(again)))


@pytest.mark.parametrize("kind", ENDLESS)
def test_what_never_ends_is_told_why(served: ServedDoor, kind: str) -> None:
    """An honest sender with a bug has somebody who reads its log."""
    start, again, reason = ENDLESS[kind]
    before = served.counted(reason)

    with served.line() as line:
        line.send(start)
        line.send_until_answered(again * (300 // len(again)))
        answer = line.rest()

    assert parsed(answer) == (ANSWERS[reason].status, reason)
    assert served.counted(reason) == before + 1


@pytest.mark.parametrize(
    ("more", "status"),
    [
        (b"a: b\r\n" * (MAX_HEADERS - 6), 204),
        (b"a: b\r\n" * (MAX_HEADERS - 5), 431),
        (b"a: " + b"x" * (MAX_HEAD_BYTES - 1000) + b"\r\n", 204),
        (b"a: " + b"x" * MAX_HEAD_BYTES + b"\r\n", 431),
    ],
    ids=["most headers", "one more", "longest", "longer"],
)
def test_heads_up_to_the_limit_are_read(served: ServedDoor, more: bytes, status: int) -> None:
    """A limit that refuses what it promises is a lost mail."""
    with served.line() as line:
        line.send(a_delivery(more=more))
        answer = line.answer(b"\r\n\r\n" if status == 204 else b"}")

    assert int(answer.split(b" ", 2)[1]) == status


def test_five_thousand_signatures_are_too_long_a_head(served: ServedDoor) -> None:
    """Each would be compared, and none of them need be genuine."""
    signatures = b"svix-signature:" + (b" v1," + b"A" * 44) * 5000

    with served.line() as line:
        line.send(POST)
        line.send_until_answered(signatures)
        answer = line.rest()

    assert parsed(answer) == (431, "headers-too-large")


def test_longest_url_is_read(served: ServedDoor) -> None:
    """Longer ones are 414, which says what is too long."""
    fitting = b"GET /healthz?" + b"x" * (MAX_URL_BYTES - 9) + b" HTTP/1.1\r\nhost: x\r\n\r\n"

    with served.line() as line:
        line.send(fitting)
        assert line.answer().endswith(ALIVE)
        line.send(fitting.replace(b"?", b"?x"))
        assert parsed(line.rest()) == (414, "url-too-long")


def test_chunks_of_seven_bytes_are_a_body_like_any(served: ServedDoor) -> None:
    """Some senders write as they encode."""
    body = an_event(text="x" * 4 * MAX_FRAMING_BYTES)[: 60 * 1024]
    chunks = [body[at : at + 7] for at in range(0, len(body), 7)]
    framed = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)

    with served.line() as line:
        line.send(CHUNKED)
        line.send(framed)
        line.send(b"0\r\n\r\n")
        answer = line.answer()

    assert b'"signature-missing"' in answer


def test_trailer_is_no_header(served: ServedDoor) -> None:
    """RFC 9110 6.5.1: what comes behind the body was not there when the head was judged."""
    body = an_event()
    proof = b"".join(name + b": " + value + b"\r\n" for name, value in signed(body)[:3])

    with served.line() as line:
        line.send(CHUNKED + b"%x\r\n%s\r\n0\r\n%s\r\n" % (len(body), body, proof))
        answer = line.answer()

    assert b'"signature-missing"' in answer


def test_requests_behind_one_another_are_answered_in_order(served: ServedDoor) -> None:
    """Pipelined, and on a connection that stays."""
    with served.line() as line:
        line.send(PAGE + a_delivery() + PAGE.replace(b"/healthz", b"/readyz"))
        answers = line.answer(b'{"ready":true}')
        line.send(PAGE)
        last = line.answer(ALIVE)

    statuses = [part[:3] for part in answers.split(b"HTTP/1.1 ")[1:]]
    assert statuses == [b"200", b"204", b"200"]
    assert last.startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("behind", [b"nonsense\r\n\r\n", CHUNKED + b"zz\r\n"], ids=["head", "body"])
def test_refusal_is_never_the_answer_to_an_earlier_request(
    served: ServedDoor, behind: bytes
) -> None:
    """A sender that reads 400 for a delivery that is stored sends it again, or gives it up."""
    answer = served.said(a_delivery() + PAGE + behind)

    assert [part[:3] for part in answer.split(b"HTTP/1.1 ")[1:]] == [b"204", b"200"]


def test_requests_behind_one_another_are_bounded(served: ServedDoor) -> None:
    """Each one that waits takes memory, and one read of a socket holds thousands."""
    answer = served.said(PAGE * (MAX_PIPELINED + 50))

    assert answer.count(b"HTTP/1.1 200") == MAX_PIPELINED + 1
    assert served.counted("busy") == 1


def test_body_that_breaks_off_into_nonsense_is_counted_once(served: ServedDoor) -> None:
    """It was in hand when it broke, and is one outcome all the same."""
    before = served.counted("malformed"), served.counted("sender-gone")

    with served.line() as line:
        line.send(CHUNKED.replace(b"host: x", b"expect: 100-continue"))
        in_hand = line.answer(b"\r\n\r\n")
        line.send(b"1\r\n{\r\nzz\r\n")
        answer = line.rest()

    assert in_hand.startswith(b"HTTP/1.1 100 ")
    assert parsed(answer) == (400, "malformed")
    assert (served.counted("malformed"), served.counted("sender-gone")) == (
        before[0] + 1,
        before[1],
    )


@pytest.mark.parametrize(
    ("data", "status", "reason"),
    [
        (b"nonsense\r\n\r\n", 400, "malformed"),
        (POST + b"connection: upgrade\r\nupgrade: h2c\r\n\r\n", 400, "upgrade"),
        (b"CONNECT x:1 HTTP/1.1\r\nhost: x\r\n\r\n", 400, "upgrade"),
    ],
    ids=["nonsense", "upgrade", "connect"],
)
def test_refusals_of_the_connection_have_the_shape_of_all(
    served: ServedDoor, data: bytes, status: int, reason: str
) -> None:
    """Whoever debugs a sender reads one format."""
    assert parsed(served.said(data)) == (status, reason)


def test_failure_of_ours_is_503_and_counted() -> None:
    """A bug must not cost a mail: the sender comes again when it is mended."""
    with ServedDoor() as served:
        served.door.log.refuse = RuntimeError("a bug")
        answer = served.said(a_delivery())

    assert parsed(answer) == (503, "our-failure")
    assert served.counted("our-failure") == 1


def mangled(seed: int) -> bytes:
    """Bytes that were a request once, or never."""
    chance = random.Random(seed)  # a seed, no secret
    if seed % 3 == 0:
        return chance.randbytes(chance.randrange(1, 3000))
    data = bytearray(a_delivery(more=b"connection: close\r\n"))
    for _ in range(chance.randrange(1, 20)):
        data[chance.randrange(len(data))] = chance.choice(b"\r\n\x00: \xff0aZ;,\t{")
    return bytes(data[: chance.randrange(1, len(data) + 1)] if seed % 3 == 1 else data)


def test_random_bytes_are_answered_or_closed() -> None:
    """What scans the internet is no failure of ours, and ends nothing but its own connection."""
    second = timedelta(seconds=1)
    with (
        ServedDoor(patience=second, body_deadline=second, idle=second) as served,
        ExitStack() as open_lines,
    ):
        lines = [open_lines.enter_context(served.line()) for _ in range(300)]
        for seed, line in enumerate(lines):
            line.send(mangled(seed))
        answers = [line.rest() for line in lines]
        alive = served.said(PAGE)

    statuses = {int(answer.split(b" ", 2)[1]) for answer in answers if answer}
    assert statuses <= {204, 400, 404, 405, 408, 413, 414, 415, 431, 503}
    assert 400 in statuses
    assert alive.endswith(ALIVE)
