"""What a poll's errors mean for the stage."""

import pytest
from confluent_kafka import KafkaError, Message

from processors.runtime.assignment import Assignment
from processors.runtime.clock import BrokerClock
from processors.runtime.failures import Fenced
from processors.runtime.reading import Reading
from tests.stages import STAGE


class NothingLive(Assignment):
    """An assignment without partitions, which needs no cluster."""

    def __init__(self) -> None:
        self.live = {}


def read(code: int) -> object:
    """What comes of a poll that brought this error alone."""
    reading = Reading(STAGE, NothingLive(), BrokerClock(), topic="inbound-events")
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
