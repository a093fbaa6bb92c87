import pytest

from processors.core.caps import COUNTS, STEPS, Cap, Count, charge, first_full, tally, used
from processors.core.turn import Turn
from tests.deciding import HOUR_MS
from tests.turns import NOW_MS, Desk

TWO_AN_HOUR = Cap(name="cap-thread", limit=2, window_ms=HOUR_MS)
STEP_MS = HOUR_MS // STEPS


def spend(turn: Turn, cap: Cap, subject: str = "t", *, times: int = 1) -> None:
    """Charge this subject."""
    for _ in range(times):
        charge(turn, [tally(turn, cap, subject)])


def is_full(turn: Turn, cap: Cap, subject: str = "t") -> bool:
    """Whether this subject has no room for one more."""
    return first_full([tally(turn, cap, subject)], now_ms=turn.now_ms) is not None


def test_cap_has_room_up_to_its_limit() -> None:
    """A limit of two lets two through."""
    desk = Desk()

    seen = []
    for _ in range(3):
        seen.append(is_full(desk.turn(), TWO_AN_HOUR))
        spend(desk.turn(), TWO_AN_HOUR)

    assert seen == [False, False, True]


def test_limit_of_zero_is_always_full() -> None:
    """An installation can say that nothing is answered."""
    never = Cap(name="cap-inbox", limit=0, window_ms=HOUR_MS)

    assert is_full(Desk().turn(), never)


def test_subjects_do_not_share_a_count() -> None:
    """Another inbox's thread of the same name is another thread."""
    desk = Desk()

    spend(desk.turn(), TWO_AN_HOUR, "t", times=2)

    assert not is_full(desk.turn(), TWO_AN_HOUR, "u")


def test_first_full_cap_is_named() -> None:
    """The rule that fires is named after the cap."""
    desk = Desk()
    other = Cap(name="cap-inbox", limit=1, window_ms=HOUR_MS)
    spend(desk.turn(), other, "i")
    turn = desk.turn()

    full = first_full([tally(turn, TWO_AN_HOUR, "t"), tally(turn, other, "i")], now_ms=turn.now_ms)

    assert full == "cap-inbox"


@pytest.mark.parametrize(
    ("later_ms", "full"),
    [(HOUR_MS - 1, True), (HOUR_MS + STEP_MS, False)],
    ids=["within the hour", "after it"],
)
def test_room_comes_back_when_the_window_has_passed(later_ms: int, *, full: bool) -> None:
    """A cap is a pace, not a verdict."""
    desk = Desk()
    desk.now_ms += STEP_MS - 1
    spend(desk.turn(), TWO_AN_HOUR, times=2)

    desk.now_ms += later_ms

    assert is_full(desk.turn(), TWO_AN_HOUR) == full


def test_row_holds_no_more_steps_than_count() -> None:
    """A busy inbox's row must stay small: it is written with every reply."""
    desk = Desk()
    many = Cap(name="cap-inbox", limit=10_000, window_ms=HOUR_MS)

    for _ in range(500):
        spend(desk.turn(), many)
        desk.now_ms += STEP_MS // 3

    row = desk.turn().get(COUNTS, "cap-inbox", "t")
    assert row is not None
    assert len(row.steps) == STEPS + 1


def test_clock_set_back_neither_forgets_nor_blocks_for_ever() -> None:
    """A broker's clock that leapt ahead for a moment must not silence an inbox until then."""
    desk = Desk()
    desk.now_ms = NOW_MS + 1000 * HOUR_MS
    spend(desk.turn(), TWO_AN_HOUR)

    desk.now_ms = NOW_MS
    spend(desk.turn(), TWO_AN_HOUR)
    is_full_at_once = is_full(desk.turn(), TWO_AN_HOUR)
    desk.now_ms = NOW_MS + HOUR_MS + STEP_MS

    assert is_full_at_once
    assert not is_full(desk.turn(), TWO_AN_HOUR)


def test_nothing_counted_is_nothing_used() -> None:
    """A subject that was never seen has its whole limit."""
    assert used(None, now_ms=NOW_MS) == 0
    assert used(Count(window_ms=HOUR_MS), now_ms=NOW_MS) == 0
