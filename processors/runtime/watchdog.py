"""Ends a process whose transaction does not return: a hang is worse than a restart.

After a broker was killed and started again, a transactional call of librdkafka 2.16 may never
return, whatever time-out it was given (its issues 5456 and 5511). Nothing is lost by ending here:
the coordinator has aborted by then what was not committed, and the next process reads it again.

Owns: the thread that looks, and the deadline.
May not: touch the loop's state.
"""

import logging
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from processors.runtime.clock import boot_s

LOG = logging.getLogger("processors.watchdog")

# Beyond the longest that a commit and its abort may take: a busy machine is not a hang.
GRACE_S: Final = 5.0
LOOK_EVERY_S: Final = 1.0
# Something outside is away: the code that Transient has.
EXIT_CODE: Final = 3


def end_process() -> None:
    """Stop at once: a thread that hangs in a library cannot be stopped otherwise."""
    LOG.error("stage stopped", extra={"reason": "a transaction did not return; start me again"})
    os._exit(EXIT_CODE)


class Watchdog:
    """Watches one thing at a time. `on_overdue` is called once it takes longer than allowed."""

    def __init__(self, on_overdue: Callable[[], None] = end_process, *, deadline_s: float) -> None:
        self._on_overdue = on_overdue
        self._deadline_s = deadline_s
        self._began_s: float | None = None
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watchdog", daemon=True)
        self._thread.start()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """The block must end within the deadline."""
        self._began_s = boot_s()
        try:
            yield
        finally:
            self._began_s = None

    def _run(self) -> None:
        while not self._closing.wait(min(LOOK_EVERY_S, self._deadline_s)):
            began_s = self._began_s
            if began_s is not None and boot_s() - began_s > self._deadline_s:
                self._on_overdue()
                return

    def close(self) -> None:
        """Stop looking."""
        self._closing.set()
        self._thread.join()
