"""The loop of a stage in this process, on real Kafka."""

from pathlib import Path

import pytest
from confluent_kafka import KafkaError, KafkaException

from processors.runtime.failures import Fenced
from processors.runtime.steps import Step
from processors.runtime.worker import Worker
from schemas.cluster import create_topics
from schemas.errors import OneReplyError, Transient
from tests.logs import corner
from tests.stages import STAGE

# ruff: noqa: SLF001  # the library's public constants have these names


class Stumbles:
    """Steps at the first of which Kafka's library raises."""

    def __init__(self, error: KafkaError) -> None:
        self._error = error

    def reached(self, step: Step) -> None:
        """Raise."""
        assert step is Step.POLLED
        raise KafkaException(self._error)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        pytest.param(KafkaError(KafkaError._STATE, "odd"), Transient, id="passing"),
        pytest.param(KafkaError(KafkaError._FATAL, "odd", fatal=True), Fenced, id="fatal"),
    ],
)
def test_error_that_nobody_expected_ends_the_stage_with_a_sentence(
    broker: str, prefix: str, tmp_path: Path, *, error: KafkaError, expected: type[OneReplyError]
) -> None:
    """A trace and a code that means a bug would send people to the wrong place."""
    settings = corner(broker, prefix, partitions=1, data_dir=str(tmp_path))
    create_topics(settings)
    worker = Worker(STAGE, settings, Stumbles(error))

    with pytest.raises(expected, match="odd"):
        worker.run(lambda: False)
