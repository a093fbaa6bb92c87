"""How long one connection may keep the door waiting, on a real socket with short deadlines."""

from contextlib import ExitStack, suppress
from datetime import timedelta

import pytest

from ingest.answers import RETRY_AFTER_S
from tests.integration.test_ingest_limits import ALIVE, CHUNKED, PAGE, POST, a_delivery, parsed
from tests.payloads import an_event
from tests.served_doors import SHORT, ServedDoor


def test_silent_connection_is_closed() -> None:
    """It costs its owner nothing, and us a file."""
    with ServedDoor(patience=SHORT) as served:
        heard = served.said()

    assert heard == b""
    assert served.counted("silent") == 1


@pytest.mark.parametrize("head", [b"P", b"POST /web", POST, POST + b"a: "])
def test_half_a_head_is_answered_in_the_end(head: bytes) -> None:
    """Thousands of such were thousands of connections, for as long as anybody liked."""
    with ServedDoor(patience=SHORT) as served:
        heard = served.said(head)

    assert parsed(heard) == (408, "head-too-slow")
    assert served.counted("head-too-slow") == 1


def test_head_that_drips_has_one_deadline() -> None:
    """Each byte would start a timer that counts from the last one."""
    with ServedDoor(patience=SHORT) as served, served.line() as line:
        line.send_until_answered(b"\r\n")
        heard = line.rest()

    assert parsed(heard)[0] in {408, 431}


def test_head_behind_an_answer_has_its_deadline_too() -> None:
    """A kept connection is a connection."""
    with ServedDoor(patience=SHORT) as served, served.line() as line:
        line.send(PAGE)
        first = line.answer(ALIVE)
        line.send(POST)
        heard = line.rest()

    assert first.startswith(b"HTTP/1.1 200")
    assert parsed(heard) == (408, "head-too-slow")


def test_idle_connection_is_closed_without_a_word() -> None:
    """An answer to nothing would be taken for the answer to the next request."""
    with ServedDoor(idle=SHORT) as served, served.line() as line:
        line.send(PAGE)
        heard = line.rest()

    assert heard.endswith(ALIVE)
    assert heard.count(b"HTTP/1.1") == 1


@pytest.mark.parametrize(
    "start",
    [POST + b"content-length: 9\r\n\r\n{", CHUNKED + b"1\r\n{\r\n"],
    ids=["declared", "chunked"],
)
def test_body_that_stops_is_503(start: bytes) -> None:
    """The line may be bad and the event good: the sender has to come again."""
    with ServedDoor(body_deadline=SHORT) as served:
        heard = served.said(start)

    assert parsed(heard) == (503, "body-too-slow")
    assert b"\r\nretry-after: %d\r\n" % RETRY_AFTER_S in heard


@pytest.mark.parametrize("rest", [b"", b"{"], ids=["stops", "drips once"])
def test_rest_of_an_answered_body_has_a_deadline(rest: bytes) -> None:
    """What is answered early is read to its end, so that the sender sees why; not for ever."""
    head = b"POST /nowhere HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n"
    with ServedDoor(patience=SHORT) as served, served.line() as line:
        line.send(head)
        first = line.answer()
        line.send(rest)
        heard = line.rest()

    assert first.startswith(b"HTTP/1.1 404")
    assert heard == b""


def test_connection_goes_on_after_the_rest_of_an_answered_body() -> None:
    """And is idle then like any other, and closed like one."""
    head = b"POST /nowhere HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n"
    with ServedDoor(idle=timedelta(seconds=1)) as served, served.line() as line:
        line.send(head)
        line.answer()
        line.send(b"{" * 9)
        line.send(PAGE)
        second = line.answer(ALIVE)
        line.send(head)
        line.answer()
        line.send(b"{" * 9)
        heard = line.rest()

    assert second.startswith(b"HTTP/1.1 200")
    assert heard == b""


def test_sender_that_reads_no_answer_is_cut() -> None:
    """Its answers fill what the kernel holds, and then our memory."""
    with ServedDoor(patience=SHORT) as served, served.line() as line:
        asked = 0
        with suppress(ConnectionError):
            while asked == 0 or served.wait_for_answers(asked):
                line.send(PAGE.replace(b"healthz", b"metrics") * 50)
                asked += 50

    assert asked < 20_000


def test_connection_above_the_limit_is_told_to_come_again() -> None:
    """A full house is not the sender's fault, and not for ever."""
    with ServedDoor(connections=1) as served, served.line() as first:
        first.send(PAGE)
        first.answer(ALIVE)
        refused = served.said(a_delivery())
        served.wait_for_connections(1)
        first.send(a_delivery())
        inside = first.answer(b"\r\n\r\n")

    assert parsed(refused) == (503, "too-many-connections")
    assert b"\r\nretry-after: %d\r\n" % RETRY_AFTER_S in refused
    assert inside.startswith(b"HTTP/1.1 204")


def test_connections_far_above_the_limit_are_cut() -> None:
    """Those who are told take files as well."""
    with ServedDoor(connections=0) as served, ExitStack() as open_lines:
        lines = [open_lines.enter_context(served.line()) for _ in range(100)]
        served.wait_for_connections(100)
        heard = served.said()
        told = [line.is_open() for line in lines]

    assert heard == b""
    assert all(told)
    assert served.counted("too-many-connections") == 1


def test_body_in_time_is_stored_whole() -> None:
    """Deadlines are for those who stop."""
    body = an_event(event_id="evt_parts")
    with ServedDoor() as served, served.line() as line:
        data = a_delivery(event_id="evt_parts")
        line.send(data[:20])
        line.send(data[20:-30])
        line.send(data[-30:])
        answer = line.answer(b"\r\n\r\n")
        stored = [record.value for record in served.door.log.records]

    assert answer.startswith(b"HTTP/1.1 204")
    assert stored == [body]
