"""How soon after a commit the next transaction may begin.

Owns: the rest between two transactions.
May not: hold anything up that is not committed by a transaction: polls, effects, restores go on.

A transaction costs the broker the same whether it holds one record or a thousand. A stage therefore
leaves the broker alone for as long as its last commit took: on an idle broker that is a few
milliseconds, on a busy one it doubles what each transaction carries.
"""

from collections.abc import Callable
from typing import Final

from processors.runtime.clock import boot_s

# However slow the broker is, a hop is not held up for longer than this.
MOST_REST_S: Final = 0.025


class Pace:
    """Measures commits, and says how long to gather records before the next."""

    def __init__(self, clock_s: Callable[[], float] = boot_s) -> None:
        self._clock_s = clock_s
        self._began_s = self._rests_until_s = 0.0

    def began(self) -> None:
        """A transaction begins now."""
        self._began_s = self._clock_s()

    def ended(self) -> float:
        """It has ended, well or not; how many seconds it took."""
        now_s = self._clock_s()
        took_s = now_s - self._began_s
        self._rests_until_s = now_s + min(took_s, MOST_REST_S)
        return took_s

    def left_s(self) -> float:
        """What is left of the rest; never negative."""
        return max(0.0, self._rests_until_s - self._clock_s())
