"""Waiting for the broker, on a clock that the test turns."""

import pytest
from confluent_kafka import KafkaError, KafkaException

from processors.runtime.patience import Patience
from schemas.errors import Transient

SILENT = KafkaException(KafkaError(KafkaError.REQUEST_TIMED_OUT))
LOADING = KafkaException(KafkaError(KafkaError.COORDINATOR_LOAD_IN_PROGRESS))


class Clock:
    """Seconds that pass only when told."""

    now_s = 1_000.0

    def __call__(self) -> float:
        """The time."""
        return self.now_s


def test_partition_that_waits_too_long_ends_the_worker() -> None:
    """A hang in silence is the one thing that nobody can mend."""
    clock = Clock()
    patience = Patience("dedupe", most_s=60, clock_s=clock)
    patience.waits(0, SILENT)
    clock.now_s += 40
    patience.waits(0, LOADING)
    clock.now_s += 21

    with pytest.raises(Transient, match="dedupe partition 0: no answer from the broker for 61 s"):
        patience.waits(0, LOADING)


def test_answer_ends_the_wait() -> None:
    """Two short outages are not a long one."""
    clock = Clock()
    patience = Patience("dedupe", most_s=60, clock_s=clock)
    patience.waits(0, SILENT)
    clock.now_s += 40
    patience.is_answered(0)
    clock.now_s += 40

    patience.waits(0, SILENT)
