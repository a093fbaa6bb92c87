import asyncio
import json
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any

import pytest

from processors.core.turn import Output, Record
from processors.writers import Draft, Thread, needs_approval
from processors.writers.answering import answer
from schemas.codec import to_json
from schemas.commands import COMMAND, SendReply
from schemas.headers import header
from schemas.keys import ReplyKey
from schemas.topics import Topic
from tests.writing import INBOX, a_record, a_request, request_bytes

LONG = timedelta(seconds=30)
Write = Callable[[Thread], Coroutine[Any, Any, Any]]


async def politely(_thread: Thread) -> str:
    """A writer that is done at once."""
    return "At nine."


def answered(write: Write, record: Record, *, deadline: timedelta = LONG) -> Output:
    """What follows from a record."""
    return asyncio.run(answer(record, write, deadline=deadline))


def giving(written: object) -> Write:
    """A writer that gives back this."""

    async def write(_thread: Thread) -> object:
        return written

    return write


def raising(error: BaseException) -> Write:
    """A writer that raises this."""

    async def write(_thread: Thread) -> str:
        raise error

    return write


def said_of(output: Output) -> dict[str, str | None]:
    """Why a dead letter is one."""
    return {
        name: header(output.headers, f"onereply-dead-{name}")
        for name in ("error", "reason", "stage")
    }


def test_a_text_becomes_the_order_to_send_it() -> None:
    """SEND knows by the ask number which request it answers."""
    output = answered(politely, a_record(request_bytes(ask_number=3)))

    assert (output.topic, output.key) == (Topic.REPLY_COMMANDS, INBOX)
    assert COMMAND.decode(output.value) == SendReply(
        reply_key=ReplyKey("reply-1"), inbox_id=INBOX, ask_number=3, text="At nine."
    )


def test_an_order_says_what_it_is_and_where_it_came_from() -> None:
    """An operator follows a reply from topic to topic by these."""
    output = answered(politely, a_record(request_bytes(ask_number=3)))

    names = ("ce_type", "ce_id", "ce_source", "ce_subject", "onereply-origin", "traceparent")
    assert [header(output.headers, name) for name in names] == [
        "onereply.command.send-reply",
        "reply-1/text/3",
        "onereply:write",
        "reply-1",
        "writer-requests/2/41",
        "00-1",
    ]


def test_a_replayed_request_stays_marked() -> None:
    """A replay alone never sends: SEND must see that it is one."""
    outputs = [
        answered(politely, a_record(request_bytes(), mark="replay-7")),
        answered(raising(ValueError()), a_record(request_bytes(), mark="replay-7")),
    ]

    assert [output.mark for output in outputs] == ["replay-7", "replay-7"]


def test_a_draft_for_a_person_carries_what_that_person_sees() -> None:
    """Approval is given to this text, for these reasons."""
    draft = Draft("40 EUR are on their way.", approval=needs_approval("Refund", {"order": 7}))

    order = json.loads(answered(giving(draft), a_record(request_bytes())).value or b"")

    assert order["needs_approval"]
    assert (order["summary"], order["evidence"]) == ("Refund", {"order": 7})


class Away(ConnectionError):
    """What a model's client raises."""


FAILED = {
    "an error": (raising(Away("no model")), "the writer raised Away: no model"),
    "an exit": (raising(SystemExit(3)), "the writer raised SystemExit: 3"),
    "an interrupt": (raising(KeyboardInterrupt()), "the writer raised KeyboardInterrupt: "),
    "a cancellation of its own": (
        raising(asyncio.CancelledError()),
        "the writer raised CancelledError: ",
    ),
    "a time-out of its own": (
        raising(TimeoutError("slow")),
        "the writer raised TimeoutError: slow",
    ),
}


@pytest.mark.parametrize(("write", "reason"), FAILED.values(), ids=FAILED.keys())
def test_a_writer_that_raises_sets_its_request_aside(write: Write, reason: str) -> None:
    """Whatever it raises, the next request is answered."""
    output = answered(write, a_record(request_bytes()))

    assert output.topic == Topic.DEAD_LETTERS
    assert said_of(output) == {"error": "WriterFailed", "reason": reason, "stage": "write"}


def test_a_writer_that_takes_too_long_is_cut_off() -> None:
    """Its slot is needed, and SEND will have asked again."""

    async def write(_thread: Thread) -> str:
        await asyncio.Event().wait()
        return "never"

    output = answered(write, a_record(request_bytes()), deadline=timedelta(milliseconds=10))

    assert said_of(output)["reason"] == "the writer took longer than 0:00:00.010000"


def test_a_writer_that_answers_its_cut_off_with_an_error_took_too_long() -> None:
    """The deadline is the cause; what it led to would send people the wrong way."""

    async def write(_thread: Thread) -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise Away("connection closed") from None
        return "never"

    output = answered(write, a_record(request_bytes()), deadline=timedelta(milliseconds=10))

    assert said_of(output)["reason"] == "the writer took longer than 0:00:00.010000"


def test_a_stop_is_not_the_writers_fault() -> None:
    """The request is read again by the next process; a dead letter would settle it."""

    async def stopped() -> None:
        started = asyncio.Event()

        async def write(_thread: Thread) -> str:
            started.set()
            await asyncio.Event().wait()
            return "never"

        task = asyncio.create_task(answer(a_record(request_bytes()), write, deadline=LONG))
        await started.wait()
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(stopped())


@pytest.mark.parametrize("written", [None, 7, "", Draft("  ")], ids=["none", "number", "", "blank"])
def test_a_writer_that_gives_back_no_text_sets_its_request_aside(written: object) -> None:
    """No mail goes out that nobody wrote."""
    output = answered(giving(written), a_record(request_bytes()))

    assert output.topic == Topic.DEAD_LETTERS
    assert said_of(output)["error"] == "Refused"


@pytest.mark.parametrize(
    "value",
    [b"", b"{", b"[]", b"{}", b"\xff", to_json(a_request())[:-1], b"[" * 100_000],
    ids=["empty", "open", "list", "no fields", "no utf-8", "cut", "deep"],
)
def test_bytes_that_are_no_request_are_set_aside_unchanged(value: bytes) -> None:
    """They can be looked at, mended and put back."""
    record = a_record(value)

    output = answered(politely, record)

    assert (output.topic, output.key, output.value) == (Topic.DEAD_LETTERS, record.key, value)
    assert output.headers[: len(record.headers)] == record.headers
    assert said_of(output)["error"] == "DecodeError"


def test_a_moment_that_no_calendar_has_sets_its_request_aside() -> None:
    """It cannot come from REORDER, and must not stop the writer when it comes all the same."""
    value = request_bytes().replace(b"1767607200000000000", b"9223372036854775807000")

    assert answered(politely, a_record(value)).topic == Topic.DEAD_LETTERS
