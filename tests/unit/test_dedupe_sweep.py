from itertools import count
from zlib import crc32

import pytest

from processors.core.dedupe import SEEN
from processors.core.sweep import SWEEP_ONE_IN, CursorRow, Sweep
from processors.core.tables import Row, Table
from tests.inbound import HORIZON_MS, Inbound
from tests.payloads import a_mail_body
from tests.turns import Desk

LIFE_MS = 60_000


class AgedRow(Row, frozen=True, kw_only=True, array_like=True):
    """A row that knows when it was written."""

    written_ms: int


ROWS = Table(0x10, AgedRow)
CURSOR = Table(0x11, CursorRow)
# The first event id whose row pays for a step.
PAYING = next(
    name for name in map(str, count()) if crc32(f"support/{name}".encode()) % SWEEP_ONE_IN == 0
)
STEP_ROWS = 2 * SWEEP_ONE_IN
SWEEP = Sweep(ROWS, CURSOR, has_expired=lambda row, now_ms: now_ms - row.written_ms > LIFE_MS)


def write(desk: Desk, names: range) -> None:
    """Write rows of these numbers at the desk's time."""
    turn = desk.turn()
    for name in names:
        turn.put(ROWS, AgedRow(written_ms=desk.now_ms), name)


def step(desk: Desk) -> None:
    """Take one step of the sweep at the desk's time."""
    SWEEP.step(desk.turn())


def test_expired_rows_go_and_others_stay() -> None:
    """Only what counts as none may be removed."""
    desk = Desk()
    write(desk, range(10))
    desk.now_ms += LIFE_MS + 1
    write(desk, range(10, 15))

    step(desk)

    assert set(desk.state.rows) == {ROWS.key(name) for name in range(10, 15)}


def test_a_row_that_is_just_as_old_as_the_horizon_stays() -> None:
    """The decision still sees it."""
    desk = Desk()
    write(desk, range(1))
    desk.now_ms += LIFE_MS

    step(desk)

    assert set(desk.state.rows) == {ROWS.key(0)}


def test_steps_go_round_a_table_larger_than_one() -> None:
    """A step is bounded; the next one begins where it ended, and the last begins anew."""
    desk = Desk()
    write(desk, range(2 * STEP_ROWS + 5))
    desk.now_ms += LIFE_MS + 1
    left = []

    for _ in range(3):
        step(desk)
        left.append(len(desk.state.rows) - (CURSOR.key() in desk.state.rows))

    assert left == [STEP_ROWS + 5, 5, 0]
    assert desk.state.rows == {}


def test_nothing_but_the_table_is_touched() -> None:
    """Timers, positions and the cursor lie beside it."""
    desk = Desk()
    desk.state.rows = {b"\x00position": b"1", b"\x01timer": b"1", b"\x11": b"x", b"\x12": b"2"}
    desk.turn().put(CURSOR, CursorRow(start=ROWS.key(7)))
    before = {key: value for key, value in desk.state.rows.items() if key != CURSOR.key()}

    step(desk)

    assert desk.state.rows == before


@pytest.mark.parametrize("names", [range(0, 40_000, 2), range(1, 40_000, 2)])
def test_one_row_in_a_thousand_pays_for_a_step_whatever_the_names(names: range) -> None:
    """A rule over numbers could be missed for ever by rows with odd numbers."""
    paying = [name for name in names if crc32(b"support/evt_%d" % name) % SWEEP_ONE_IN == 0]

    assert 10 <= len(paying) <= 30


@pytest.mark.parametrize("spread", [1, 0x9E3779B1], ids=["ids that grow", "ids at random"])
def test_the_table_stays_near_its_live_rows(spread: int) -> None:
    """Expiry keeps up at any rate, because writing pays for it."""
    live = 2_000
    sweep = Sweep(
        ROWS, CURSOR, has_expired=lambda row, now_ms: now_ms - row.written_ms >= live, one_in=16
    )
    desk, sizes = Desk(), []
    for number in range(6 * live):
        # One row a millisecond, so as many live as a row's life has milliseconds.
        desk.now_ms += 1
        turn = desk.turn()
        turn.put(ROWS, AgedRow(written_ms=desk.now_ms), number * spread % 2**32)
        sweep.after_write(b"support/evt_%d" % number, turn)
        sizes.append(len(desk.state.rows))

    settled = sizes[2 * live :]
    assert max(settled) <= 2.2 * live
    assert sum(settled) / len(settled) <= 1.6 * live


def test_dedupe_sweeps_as_it_remembers() -> None:
    """Rows past the horizon give their room back without anybody asking for them again."""
    inbound = Inbound()
    inbound.bring(a_mail_body(), event_id="old")
    inbound.desk.now_ms += HORIZON_MS + 1

    inbound.bring(a_mail_body(), event_id=PAYING)

    assert list(inbound.desk.state.rows) == [SEEN.key(f"support/{PAYING}")]
