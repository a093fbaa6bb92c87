"""A transaction that does not return ends the process."""

import threading

from processors.runtime.transactions import ABORT_DEADLINE_S, longest_s
from processors.runtime.watchdog import Watchdog
from schemas.settings import load_settings

# Far longer than a look takes, also on a busy machine.
PATIENCE_S = 30.0


def test_block_that_takes_too_long_is_told() -> None:
    """A stage that hangs stops a partition in silence; one that ends is started again."""
    told = threading.Event()
    watchdog = Watchdog(told.set, deadline_s=0.01)

    with watchdog.watching():
        is_told = told.wait(PATIENCE_S)
    watchdog.close()

    assert is_told


def test_block_that_ended_is_forgotten() -> None:
    """Time between two transactions is nobody's fault."""
    told = threading.Event()
    watchdog = Watchdog(told.set, deadline_s=0.01)

    with watchdog.watching():
        pass
    watchdog.close()

    assert not told.is_set()


def test_abort_has_its_time_after_a_transaction_that_used_up_its_own() -> None:
    """Ended in the middle of its abort, a stage would not say what went wrong."""
    settings = load_settings(transaction_timeout_ms=3_000)

    assert longest_s(settings) == 3 + ABORT_DEADLINE_S
