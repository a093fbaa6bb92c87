from collections import Counter

from processors.core.caps import COUNTS
from processors.core.decide_rows import DECIDED, EARLY, OWN, SWEEP_ROWS
from processors.core.expiry import EXPIRY
from processors.core.suppression import OPEN, SUPPRESSED
from processors.core.thread_log import LOG, THREADS
from schemas.events import Kind
from tests.deciding import DAY_MS, HOUR_MS, Deciding, a_fact, a_mail, a_reply_sent, asks

TAGS = {each.tag for each in (DECIDED, THREADS, LOG, COUNTS, OPEN, OWN, EARLY, EXPIRY)}


def rows(deciding: Deciding) -> dict[int, int]:
    """How many rows each table has, by its tag; tables without rows are left out."""
    counted = Counter(key[0] for key in deciding.desk.state.rows)
    return {tag: count for tag, count in counted.items() if tag in TAGS}


def test_all_is_forgotten_a_horizon_after_the_last_mail() -> None:
    """State is bounded by what came within the horizon."""
    deciding = Deciding()
    deciding.give(a_mail("a"), a_mail("b", at_ms=1), a_reply_sent("a"), a_fact(Kind.DELIVERED, "x"))

    deciding.wait(31 * DAY_MS)

    assert rows(deciding) == {}
    assert deciding.desk.timers.waiting == set()


def test_decision_is_remembered_for_the_horizon() -> None:
    """A copy within it is never decided again."""
    deciding = Deciding()
    deciding.give(a_mail())

    deciding.wait(30 * DAY_MS)

    assert deciding.give(a_mail()) == []


def test_thread_that_goes_on_keeps_its_log() -> None:
    """The log is dropped after the thread's last mail, not after its first."""
    deciding = Deciding()
    deciding.give(a_mail("a"))
    deciding.wait(20 * DAY_MS)
    deciding.give(a_mail("b", at_ms=20 * DAY_MS))

    deciding.wait(15 * DAY_MS)
    (ask,) = asks(deciding.give(a_mail("c", at_ms=35 * DAY_MS)))

    assert [said.message_id for said in ask.log] == [
        f"{name}@mail.customer.example" for name in "abc"
    ]


def test_counts_go_once_they_count_nothing() -> None:
    """A cap's row outlives its window by at most one more."""
    deciding = Deciding()
    deciding.give(a_mail())

    deciding.wait(3 * HOUR_MS)
    after_hours = rows(deciding)[COUNTS.tag]
    deciding.wait(3 * DAY_MS)

    assert (after_hours, COUNTS.tag in rows(deciding)) == (2, False)


def test_count_in_use_is_put_off() -> None:
    """A busy thread's cap is not forgotten in the middle."""
    deciding = Deciding(cap_thread_hour=3)
    for number in range(3):
        deciding.give(a_mail(f"m{number}", at_ms=number * HOUR_MS))
        deciding.wait(HOUR_MS - 1)

    assert rows(deciding)[COUNTS.tag] == 4


def test_suppression_is_never_forgotten() -> None:
    """An opt-out stands until it is taken back."""
    deciding = Deciding()
    deciding.give(a_fact(Kind.SUPPRESSED, recipients=("jane@customer.example",)))

    deciding.wait(400 * DAY_MS)

    assert sum(1 for _ in deciding.desk.turn().rows(SUPPRESSED)) == 1


def test_early_fact_waits_a_week() -> None:
    """News of a mail that never becomes ours goes after seven days."""
    deciding = Deciding()
    deciding.give(a_fact(Kind.DELIVERED))

    deciding.wait(7 * DAY_MS - 1)
    before = rows(deciding).get(EARLY.tag)
    deciding.wait(DAY_MS)

    assert (before, rows(deciding).get(EARLY.tag)) == (1, None)


def test_early_fact_that_was_told_is_not_missed() -> None:
    """The index may name a row that went before its time."""
    deciding = Deciding()
    deciding.give(a_mail(), a_fact(Kind.DELIVERED), a_reply_sent())

    deciding.wait(31 * DAY_MS)

    assert rows(deciding) == {}


def test_one_turn_forgets_a_bounded_number_and_the_next_goes_on_at_once() -> None:
    """A million old rows must not stop the partition, nor stay."""
    deciding = Deciding()
    facts = (a_fact(Kind.SENT, f"s{number}") for number in range(SWEEP_ROWS + 5))
    deciding.give(*facts)
    deciding.desk.now_ms += 40 * DAY_MS

    deciding.ring()
    after_one = rows(deciding)[OWN.tag]
    deciding.ring()

    assert after_one == 5
    assert OWN.tag not in rows(deciding)


def test_quiet_partition_forgets_nothing_by_the_clock_alone() -> None:
    """Rows age by stream time: a stage that lags keeps what it still needs."""
    deciding = Deciding()
    deciding.give(a_mail())
    written_at_ms = deciding.desk.now_ms

    deciding.desk.now_ms += 40 * DAY_MS
    for timer in deciding.desk.timers.take_due(deciding.desk.now_ms):
        turn = deciding.desk.turn()
        turn.stream_ms = written_at_ms
        deciding.stage.on_timer(timer, turn)

    assert rows(deciding)[DECIDED.tag] == 1
    assert len(deciding.desk.timers.waiting) == 1
