"""What a poll's records and errors mean for the stage."""

from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka import TIMESTAMP_LOG_APPEND_TIME, KafkaError, Message

from processors.runtime.assignment import Assignment
from processors.runtime.clock import BrokerClock
from processors.runtime.failures import Fenced
from processors.runtime.partition import Partition
from processors.runtime.reading import MOST_WEIGHT_BYTES, Reading
from processors.runtime.store import Store, StoreCache
from tests.partitions import a_partition
from tests.stages import STAGE

BROKER_MS = 1_767_607_200_000
DAY_MS = 86_400_000


class Live(Assignment):
    """An assignment of these partitions, which needs no cluster."""

    def __init__(self, *partitions: Partition) -> None:
        self.live = {each.number: each for each in partitions}


def read(code: int) -> object:
    """What comes of a poll that brought this error alone."""
    reading = Reading(STAGE, Live(), BrokerClock(), topic="inbound-events")
    error = KafkaError(code, "said the broker")
    return reading.given([Message(topic="inbound-events", partition=0, error=error)], [])


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(KafkaError._FATAL, id="name-taken"),  # noqa: SLF001  # the library's public constant has this name
        pytest.param(KafkaError.TOPIC_AUTHORIZATION_FAILED, id="topic-forbidden"),
        pytest.param(KafkaError.GROUP_AUTHORIZATION_FAILED, id="group-forbidden"),
    ],
)
def test_worker_that_can_read_no_more_stops(code: int) -> None:
    """It would hold its stores and wait for ever, while its successor cannot open them."""
    with pytest.raises(Fenced, match="may not read any further"):
        read(code)


def test_worker_outlives_an_error_that_passes() -> None:
    """A connection comes back by itself."""
    assert read(KafkaError._TRANSPORT) == []  # noqa: SLF001  # the library's public constant has this name


def test_record_of_a_broker_whose_clock_leapt_is_no_later_than_now(tmp_path: Path) -> None:
    """Its time would age every row of the partition by days, after a restart as well."""
    store = Store(tmp_path, StoreCache(1 << 20))
    partition = a_partition(store)
    clock = BrokerClock(lambda: 500.0)
    clock.observe_ack(BROKER_MS)
    reading = Reading(STAGE, Live(partition), clock, topic="inbound-events")

    (given,) = reading.given([stored(0, BROKER_MS), stored(1, BROKER_MS + 2 * DAY_MS)], [])
    store.close()

    assert [record.timestamp_ms for record in given.records] == [BROKER_MS, BROKER_MS]


def stored(offset: int, appended_ms: int) -> Message:
    """A record as a poll brings it."""
    at = (TIMESTAMP_LOG_APPEND_TIME, appended_ms)
    return Message(topic="inbound-events", partition=0, offset=offset, timestamp=at)


def weighing(partition: int, offset: int, weight_bytes: int) -> Message:
    """A record that has to read so much from elsewhere."""
    at = (TIMESTAMP_LOG_APPEND_TIME, BROKER_MS)
    return Message(
        topic="inbound-events",
        partition=partition,
        offset=offset,
        timestamp=at,
        value=b"%d" % weight_bytes,
    )


def test_batch_that_weighs_too_much_is_cut_and_the_rest_read_again(tmp_path: Path) -> None:
    """A thousand blobs of 50 MB in one batch would outlast the time between two polls."""
    store = Store(tmp_path, StoreCache(1 << 20))
    heavy, light = a_partition(store), a_partition(store, number=1)
    clock = BrokerClock(lambda: 500.0)
    clock.observe_ack(BROKER_MS)
    stage = replace(STAGE, weight=lambda record: int(record.value or b"0"))
    reading = Reading(stage, Live(heavy, light), clock, topic="inbound-events")

    given = reading.given(
        [weighing(0, 0, 2 * MOST_WEIGHT_BYTES), weighing(0, 1, 1), weighing(1, 0, 0)], []
    )
    store.close()

    taken = [(record.partition, record.offset) for each in given for record in each.records]
    assert taken == [(0, 0)]
    assert reading.take_cut() == [heavy, light]
    assert reading.take_cut() == []
