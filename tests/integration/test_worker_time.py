"""A stage that does not get to know the time at once, on real Kafka."""

import time
from pathlib import Path

from confluent_kafka import KafkaError, KafkaException, Message

from processors.runtime.steps import Step
from processors.runtime.worker import Worker
from schemas.cluster import create_topics
from schemas.topics import Topic
from tests.logs import corner, put, records_in
from tests.processes import DEADLINE_S
from tests.stages import STAGE

EVENT = (b"one", b"plain")


class Setback:
    """Steps that have the first transactions rolled back, and see when the first batch is done."""

    def __init__(self, times: int) -> None:
        self._left = times
        self._give_up_at_s = time.monotonic() + DEADLINE_S
        self.order: list[Step] = []

    def reached(self, step: Step) -> None:
        """Keep it, and raise what Kafka says of a transaction that must be rolled back."""
        self.order.append(step)
        if step is Step.PRODUCED and self._left:
            self._left -= 1
            error = KafkaError(KafkaError.REQUEST_TIMED_OUT, "late", txn_requires_abort=True)
            raise KafkaException(error)

    def is_done(self) -> bool:
        """Whether a batch was carried out."""
        assert time.monotonic() < self._give_up_at_s, self.order
        return Step.DECIDED in self.order and self.order[-1] is Step.STARTED


class Waiting(Worker):
    """A worker whose polls wait for the record, so that it comes whatever else goes on."""

    def _poll(self) -> list[Message]:
        return self._consumer.consume(1, 0.5)


def test_record_that_comes_before_the_time_is_known_is_decided_once_it_is(
    broker: str, prefix: str, tmp_path: Path
) -> None:
    """What was read and not decided must be read again, or it is lost without a trace."""
    settings = corner(broker, prefix, partitions=1, data_dir=str(tmp_path))
    create_topics(settings)
    put(settings, Topic.INBOUND_EVENTS, [EVENT])
    steps = Setback(times=3)

    Waiting(STAGE, settings, steps).run(steps.is_done)

    decided_at = steps.order.index(Step.DECIDED)
    assert steps.order[:decided_at].count(Step.PRODUCED) == 4
    told = records_in(settings, Topic.THREAD_EVENTS)
    assert [(record.key, record.value) for record in told] == [EVENT]
