"""The rest between two transactions, on a clock that the test turns."""

from processors.runtime.pace import MOST_REST_S, Pace


class Clock:
    """Seconds that pass only when told."""

    def __init__(self) -> None:
        self.now_s = 1_000.0

    def __call__(self) -> float:
        """The time."""
        return self.now_s


def _after_commit(took_s: float) -> tuple[Pace, Clock]:
    clock = Clock()
    pace = Pace(clock)
    pace.began()
    clock.now_s += took_s
    pace.ended()
    return pace, clock


def test_first_transaction_waits_for_nothing() -> None:
    """Nothing was committed, so the broker is not busy with us."""
    assert Pace(Clock()).left_s() == 0.0


def test_rest_is_as_long_as_the_commit() -> None:
    """Half of the time at most is spent in transactions."""
    pace, clock = _after_commit(0.0078125)

    assert pace.left_s() == 0.0078125

    clock.now_s += 0.00390625
    assert pace.left_s() == 0.00390625


def test_rest_after_a_slow_commit_is_bounded() -> None:
    """A hop is not held up for the sake of a slow broker."""
    pace, _ = _after_commit(2.0)

    assert abs(pace.left_s() - MOST_REST_S) < 1e-9


def test_rest_that_is_over_is_over() -> None:
    """It is never negative, however long nothing came."""
    pace, clock = _after_commit(0.0078125)
    clock.now_s += 60

    assert pace.left_s() == 0.0
