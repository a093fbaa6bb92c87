"""A halt inside a transaction whose records have reached the broker.

Where a step comes right after `produce`, a process that is stopped there may hold them itself.
"""

from ops.kafka.process import until
from processors.runtime.steps import Step, Steps
from schemas.settings import Settings
from schemas.topics import Topic
from tests.compaction import offsets_in

# Set to have the test stage halt in this way.
LOGGED_FIRST = "TEST_LOGGED_FIRST"
DEADLINE_S = 30.0


class LoggedFirst:
    """Steps of which R4b is passed on once the first output stands in the log, uncommitted."""

    def __init__(self, steps: Steps, settings: Settings) -> None:
        self._steps = steps
        self._settings = settings
        self._is_batch = False

    def reached(self, step: Step) -> None:
        """Wait where that is needed, and pass the step on."""
        self._is_batch = self._is_batch or step is Step.DECIDED
        if step is Step.OFFSETS_SENT and self._is_batch:
            assert until(self._is_logged, deadline_s=DEADLINE_S), "no output reached the log"
        self._steps.reached(step)

    def _is_logged(self) -> bool:
        return offsets_in(self._settings, Topic.THREAD_EVENTS, committed=False)[1] > 0
