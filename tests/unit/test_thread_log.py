import msgspec

from processors.core.thread_log import (
    CUSTOMER,
    LOG,
    MOST_FIELD_CHARS,
    MOST_MESSAGES,
    MOST_TEXT_CHARS,
    LogRow,
    ThreadId,
    ThreadRow,
    forget_message,
    keep_thread,
    log_of,
    thread_row,
    with_asked,
    with_message,
)
from schemas.codec import to_json
from schemas.topics import THREAD_CONTEXT_LIMIT_BYTES
from tests.deciding import DAY_MS
from tests.turns import Desk

THREAD = ThreadId("support@inbox.example", "t")


def a_row(number: int, **changes: object) -> LogRow:
    """The message with this number, said at that time."""
    row = LogRow(
        role=CUSTOMER,
        place=(number, -1, f"m{number}"),
        id=f"m{number}",
        message_id=f"m{number}",
        text=f"text {number}",
    )
    return msgspec.structs.replace(row, **changes)


def remember(desk: Desk, *rows: LogRow) -> ThreadRow:
    """Keep these messages, one turn each."""
    for row in rows:
        turn = desk.turn()
        before = thread_row(turn, THREAD)
        after = with_message(before, row, turn, of=THREAD)
        keep_thread(before, after, turn, of=THREAD, keep_ms=DAY_MS)
    return thread_row(desk.turn(), THREAD) or ThreadRow()


def texts(desk: Desk) -> list[str | None]:
    """What the thread's log says, oldest first."""
    row = thread_row(desk.turn(), THREAD) or ThreadRow()
    return [said.text for said in log_of(row, desk.turn(), of=THREAD)[0]]


def test_log_is_in_position_order_whatever_came_first() -> None:
    """A writer reads a conversation, not an arrival order."""
    desk = Desk()

    remember(desk, a_row(2), a_row(3), a_row(1))

    assert texts(desk) == ["text 1", "text 2", "text 3"]


def test_message_that_comes_again_is_one_row() -> None:
    """A replay, or our own news told twice, must not repeat a line of the thread."""
    desk = Desk()

    remember(desk, a_row(1), a_row(2), a_row(1, place=(3, -1, "m1"), text="moved"))

    assert texts(desk) == ["text 2", "moved"]


def test_oldest_message_goes_above_the_limit() -> None:
    """A thread of thousands of messages costs no more state than one of 64."""
    desk = Desk()

    row = remember(desk, *map(a_row, range(MOST_MESSAGES + 2)))
    said, is_whole = log_of(row, desk.turn(), of=THREAD)

    assert len(said) == len(list(desk.turn().rows(LOG))) == MOST_MESSAGES
    assert said[0].text == "text 2"
    assert not is_whole


def test_long_text_is_cut_and_says_so() -> None:
    """The whole text is in the raw body; the log is context."""
    desk = Desk()

    row = remember(desk, a_row(1, text="x" * (MOST_TEXT_CHARS + 1), subject="s" * 2000))
    (said,), is_whole = log_of(row, desk.turn(), of=THREAD)

    assert (said.text, said.subject) == ("x" * MOST_TEXT_CHARS, "s" * MOST_FIELD_CHARS)
    assert said.is_truncated
    assert is_whole


def test_message_without_text_stays_without() -> None:
    """Missing text is a mail without text."""
    desk = Desk()

    remember(desk, a_row(1, text=None))

    assert texts(desk) == [None]


def test_log_in_an_ask_has_a_limit_in_bytes_and_keeps_the_newest() -> None:
    """What stands in front of a writer is bounded, and its end matters most."""
    desk = Desk()
    # A control character takes six bytes of JSON.
    row = remember(desk, *(a_row(n, text="\x01" * MOST_TEXT_CHARS) for n in range(5)))

    said, is_whole = log_of(row, desk.turn(), of=THREAD)

    assert [each.message_id for each in said] == ["m3", "m4"]
    assert len(to_json(said)) <= THREAD_CONTEXT_LIMIT_BYTES
    assert not is_whole


def test_newest_message_asked_for_only_moves_forward() -> None:
    """A late mail that is asked for does not make the thread younger."""
    row = with_asked(with_asked(ThreadRow(), (2, -1, "b")), (1, -1, "a"))

    assert row.newest_asked == (2, -1, "b")


def test_forgotten_message_is_gone_from_row_and_log() -> None:
    """An erased mail leaves no word in a later ask."""
    desk = Desk()
    remember(desk, a_row(1), a_row(2))

    forget_message(desk.turn(), "m1", of=THREAD)

    assert texts(desk) == ["text 2"]
    assert [row.id for _, row in desk.turn().rows(LOG)] == ["m2"]


def test_forgetting_in_an_unknown_thread_does_nothing() -> None:
    """An erasure may come for a thread that was forgotten long ago."""
    desk = Desk()

    forget_message(desk.turn(), "m1", of=THREAD)

    assert desk.state.rows == {}


def test_listed_message_without_words_is_left_out() -> None:
    """A log that lost a row says that it is not whole, and goes on."""
    desk = Desk()
    row = remember(desk, a_row(1), a_row(2))
    desk.turn().delete(LOG, *THREAD, "m1")

    said, is_whole = log_of(row, desk.turn(), of=THREAD)

    assert [each.text for each in said] == ["text 2"]
    assert not is_whole
