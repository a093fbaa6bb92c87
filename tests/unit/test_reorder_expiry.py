import pytest

from processors.core.reorder_expiry import STEP_ROWS, is_step_due, sweep
from processors.core.reorder_rows import COPIES, IDENTITIES, THREADS
from schemas.keys import EventKey, ThreadKey
from tests.reordering import Reordering, a_mail, an_opening

HORIZON_MS = 60_000


def aging(stage: Reordering) -> int:
    """How many rows there are that will be forgotten."""
    tags = (THREADS.key(), IDENTITIES.key(), COPIES.key())
    return sum(key[:1] in tags for key in stage.desk.state.rows)


def a_thread(number: int) -> dict[str, object]:
    """What makes a mail the opening of this thread."""
    return {"thread_key": ThreadKey(f"t{number}")}


def test_rows_past_the_horizon_are_forgotten() -> None:
    """State must not grow with all the mail there ever was."""
    stage = Reordering()
    stage.give(an_opening("m"), an_opening("m", event_key=EventKey("other/evt")))
    stage.wait(HORIZON_MS)

    before = aging(stage)
    sweep(stage.turn(), HORIZON_MS)

    assert (before, stage.desk.state.rows) == (3, {})


def test_rows_within_the_horizon_stay() -> None:
    """A duplicate that comes just in time must still be known."""
    stage = Reordering()
    stage.give(an_opening("m"))
    stage.wait(HORIZON_MS - 1)

    sweep(stage.turn(), HORIZON_MS)

    assert aging(stage) == 2


def test_thread_past_the_horizon_makes_nothing_late() -> None:
    """What is forgotten is forgotten at one moment, whatever the walk has reached."""
    stage = Reordering(horizon_ms=HORIZON_MS)
    stage.give(an_opening("newer", at_ms=5))
    stage.wait(HORIZON_MS)

    stage.give(a_mail("older", at_ms=1))

    assert stage.wait(2_000) == ["older"]
    assert stage.ordered[-1].late_by_ms is None


def test_held_mail_and_its_thread_stay_whatever_their_age() -> None:
    """What waits is not forgotten while it waits."""
    stage = Reordering()
    stage.give(a_mail("m"))
    stage.wait(1_000)

    sweep(stage.turn(), 1_000)

    assert aging(stage) == 2
    assert stage.wait(1_000) == ["m"]


def test_walk_goes_on_where_it_stopped_and_begins_anew_at_the_end() -> None:
    """Each step is small, and no row is passed over for ever."""
    stage = Reordering()
    for number in range(3):
        stage.give(an_opening(f"m{number}", **a_thread(number)))
    stage.wait(HORIZON_MS)
    stage.give(an_opening("young", **a_thread(9)))

    left = []
    for _ in range(3):
        sweep(stage.turn(), HORIZON_MS, limit=3)
        left.append(aging(stage))
    stage.wait(HORIZON_MS)
    sweep(stage.turn(), HORIZON_MS, limit=3)

    assert left == [5, 3, 2]
    assert stage.desk.state.rows == {}


def test_empty_state_is_swept_without_a_trace() -> None:
    """A stage that just began writes nothing for it."""
    stage = Reordering()

    sweep(stage.turn(), HORIZON_MS)

    assert stage.desk.state.rows == {}


@pytest.mark.parametrize("stride", [1, 2, 3, 64, 1024])
def test_step_is_due_evenly_whatever_offsets_there_are(stride: int) -> None:
    """Commit markers take offsets too; small batches leave only every other one to records."""
    records = 64 * 1024

    due = sum(is_step_due(offset) for offset in range(1, records * stride, stride))

    assert 48 <= due <= 80


def test_state_stays_bounded_while_mail_flows() -> None:
    """Expiry keeps up with the rate of writing, with no timer and no scan of everything."""
    stage = Reordering(horizon_ms=1_000)
    most = 0

    for number in range(6_000):
        stage.desk.now_ms += 1
        stage.give(an_opening(f"m{number}", **a_thread(number)))
        if number % 250 == 0:
            most = max(most, aging(stage))

    written_within_horizon = 2 * 1_000
    assert most <= written_within_horizon * 1.5 + STEP_ROWS
