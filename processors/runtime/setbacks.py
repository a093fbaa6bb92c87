"""Batches rolled back in a row: each is tried again after a longer pause, and not for ever.

Owns: the pauses, and after how many a process ends.
May not: wait.
"""

import logging
from collections.abc import Callable
from typing import Final

from processors.runtime.clock import boot_s
from processors.runtime.failures import Aborted, hopeless
from schemas.errors import Transient

LOG: Final = logging.getLogger("processors.setbacks")

# A rebalance costs one; what outlives all of them, a new process with new clients may mend.
MOST: Final = 5
# Doubled each time: two seconds in all, far less than any time-out of a group.
FIRST_PAUSE_S: Final = 0.1


class Setbacks:
    """Counts what was rolled back since the last commit."""

    def __init__(self, clock_s: Callable[[], float] = boot_s) -> None:
        self._clock_s = clock_s
        self._count = 0
        self._until_s = 0.0

    def rolled_back(self, aborted: Aborted) -> None:
        """A batch was rolled back. Raises what ends the process where no repeat can help."""
        if (end := hopeless(aborted.error)) is not None:
            raise end from aborted
        LOG.warning("batch rolled back", extra={"reason": str(aborted)})
        self._count += 1
        if self._count >= MOST:
            raise Transient(f"{MOST} batches rolled back in a row: {aborted.error}") from aborted
        self._until_s = self._clock_s() + FIRST_PAUSE_S * 2 ** (self._count - 1)

    def committed(self) -> None:
        """A batch was committed: the next setback is a new story."""
        self._count = 0

    def left_s(self) -> float:
        """What is left of the pause; never negative."""
        return max(0.0, self._until_s - self._clock_s())
