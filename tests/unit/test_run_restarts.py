from ops.run.restarts import Restarts


def test_first_restart_does_not_wait_and_later_ones_wait_up_to_half_a_minute() -> None:
    """A hiccup costs nothing; a part that cannot start must not eat the machine."""
    restarts, waits = Restarts(), []

    for _ in range(9):
        restarts = restarts.after_end(worked_s=0.1)
        waits.append(restarts.wait_s)

    assert waits == [0, 1, 2, 4, 8, 16, 30, 30, 30]


def test_part_that_worked_for_a_minute_starts_anew_without_a_wait() -> None:
    """What happened last week says nothing about today."""
    tired = Restarts(count=7)

    assert tired.after_end(worked_s=60.0) == Restarts(count=1)
