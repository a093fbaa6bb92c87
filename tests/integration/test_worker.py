"""The loop of a stage in this process, on real Kafka."""

from pathlib import Path

import httpx
import pytest
from confluent_kafka import KafkaError, KafkaException
from prometheus_client.parser import text_string_to_metric_families

from ops.kafka.ports import free_ports
from processors.runtime.failures import Fenced
from processors.runtime.steps import Step
from processors.runtime.worker import Worker
from schemas.cluster import create_topics
from schemas.errors import OneReplyError, Transient
from schemas.topics import Topic
from tests.logs import await_records, corner, put
from tests.stages import STAGE
from tests.staging import stage

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


def test_metrics_tell_what_was_restored_and_decided(
    broker: str, prefix: str, tmp_path: Path
) -> None:
    """Who watches a worker must see how far it is without reading its log."""
    (port,) = free_ports(1)
    settings = corner(broker, prefix, partitions=1, metrics_port=port)
    create_topics(settings)
    put(settings, Topic.INBOUND_EVENTS, [(b"k%d" % number, b"v") for number in range(3)])
    with stage(settings, tmp_path / "first") as first:
        first.start()
        await_records(settings, Topic.THREAD_EVENTS, 3)
        first.terminate()

    with stage(settings, tmp_path / "second") as second:
        second.start()
        second.wait_for("stage live")
        page = httpx.get(f"http://127.0.0.1:{port}/metrics", timeout=10).text
        second.terminate()

    figures = {family.name: family for family in text_string_to_metric_families(page)}
    restored = figures["onereply_stage_restore_records"].samples[0].value
    left = figures["onereply_stage_restore_left"].samples[0].value
    assert restored >= 3
    assert left == 0
