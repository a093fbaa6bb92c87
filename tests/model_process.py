"""A worker's process in memory: it goes on only while it is told to, and can be killed anywhere.

The worker runs in a thread that stands still between two rounds, and at any step that a test asks
for: that is how a process is stopped, and how one dies.
"""

import threading
from collections.abc import Callable
from typing import Final

from processors.runtime.steps import Step, Steps
from tests.model_log import Log

DEADLINE_S: Final = 30.0

Run = Callable[[Callable[[], bool], Steps], None]


class Killed(BaseException):
    """The process is no more."""


class ModelProcess:
    """One worker. `where` is the step at which it stands, or None between two rounds."""

    def __init__(self, log: Log, run: Run, *, at_step: Callable[[Step], None]) -> None:
        self._log = log
        self._run = run
        self._at_step = at_step
        self._may_go = threading.Semaphore(0)
        self._stands = threading.Semaphore(0)
        self._is_stopping = self._is_dying = False
        self._halt_at: Step | None = None
        self.where: Step | None = None
        self.has_ended = False
        self.error: BaseException | None = None
        # It reads the clock that the test turns by this name.
        self._thread = threading.Thread(target=self._main, name="model-worker", daemon=True)
        self._thread.start()
        self._wait()

    # -- what a test does with it

    def go(self, halt_at: Step | None = None) -> None:
        """Go on to the end of the round, or to that step if it comes before."""
        if self.has_ended:
            return
        self._halt_at, self.where = halt_at, None
        self._may_go.release()
        self._wait()

    def stop(self) -> None:
        """Let it finish its round and end in order."""
        self._is_stopping = True
        self.go()
        if not self.has_ended:
            # It stood at a step: the first took it to the end of its round.
            self.go()
        self._thread.join(DEADLINE_S)

    def kill(self) -> None:
        """It dies where it stands."""
        self._is_dying = True
        if self._thread.ident is not None:
            self._log.killed.add(self._thread.ident)
        self.go()
        self._thread.join(DEADLINE_S)
        self._log.killed.discard(self._thread.ident or 0)

    def _wait(self) -> None:
        assert self._stands.acquire(timeout=DEADLINE_S), "the worker does not come to a stand"

    # -- what the worker sees

    def _main(self) -> None:
        try:
            self._run(self._asked, self)
        except BaseException as error:  # noqa: BLE001  # a process ends with whatever it ends with
            self.error = error
        finally:
            self.has_ended = True
            self._stands.release()

    def _stand(self) -> None:
        self._stands.release()
        assert self._may_go.acquire(timeout=DEADLINE_S), "the test has left"
        if self._is_dying:
            raise Killed

    def _asked(self) -> bool:
        if not self._is_stopping:
            self._stand()
        return self._is_stopping

    def reached(self, step: Step) -> None:
        """A step is done: stand still there if asked to."""
        self._at_step(step)
        if step is self._halt_at:
            self.where, self._halt_at = step, None
            self._stand()
