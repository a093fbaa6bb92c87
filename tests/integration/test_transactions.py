"""A stage's transactions on real Kafka: what each way of failing leaves, and says."""

import os
import time
from collections.abc import Callable, Sequence

import pytest
from confluent_kafka import Consumer, IsolationLevel, KafkaError, TopicPartition
from confluent_kafka.admin import OffsetSpec

from processors.core.turn import Output
from processors.runtime.failures import Aborted, Fenced
from processors.runtime.steps import NoHalt, Step, Steps
from processors.runtime.transactions import Batch, Transactions, offsets_of
from schemas.cluster import admin, consumer_config, create_topics
from schemas.errors import Transient
from schemas.settings import Settings
from schemas.topics import MAX_DEAD_LETTER_BYTES, MAX_RECORD_BYTES, Topic
from tests.logs import corner, records_in
from tests.processes import DEADLINE_S

FINE = Output(Topic.THREAD_EVENTS, "k", b"{}")
NO_HALT = NoHalt()
# More than its topic takes, since no compression helps, and less than the producer itself refuses.
REFUSED_BY_BROKER = Output(Topic.THREAD_EVENTS, "k", os.urandom(MAX_RECORD_BYTES))
REFUSED_BY_PRODUCER = Output(Topic.THREAD_EVENTS, "k", bytes(MAX_DEAD_LETTER_BYTES))


class At:
    """Steps that call something at one of them."""

    def __init__(self, step: Step, call: Callable[[], object]) -> None:
        self._step = step
        self._call = call

    def reached(self, step: Step) -> None:
        """Call it, at that step."""
        if step is self._step:
            self._call()


@pytest.fixture
def settings(broker: str, prefix: str) -> Settings:
    """A corner with one partition."""
    found = corner(broker, prefix, partitions=1)
    create_topics(found)
    return found


def transactions(settings: Settings, steps: Steps = NO_HALT) -> Transactions:
    """Transactions of one name."""
    found = Transactions(
        settings,
        name="dedupe",
        changelog=settings.shape().name(Topic.DEDUPE_STATE),
        steps=steps,
    )
    found.open()
    return found


def commit(settings: Settings, which: Transactions, outputs: Sequence[Output]) -> None:
    """Commit these outputs, with a row and an offset."""
    consumer = Consumer(consumer_config(settings, group="t"))
    name = settings.shape().name(Topic.INBOUND_EVENTS)
    try:
        which.commit(
            Batch(
                outputs=outputs,
                changelog={0: {b"row": b"1"}},
                offsets=offsets_of(name, {0: 1}, {}),
                group_metadata=consumer.consumer_group_metadata(),
            )
        )
    finally:
        consumer.close()


def await_end(settings: Settings, topic: Topic, end: int) -> None:
    """Return when the topic's end is there, records of open transactions included."""
    client, place = admin(settings), TopicPartition(settings.shape().name(topic), 0)
    give_up_at_s = time.monotonic() + DEADLINE_S
    while True:
        asked = client.list_offsets(
            {place: OffsetSpec.latest()},  # type: ignore[no-untyped-call]  # the library types it not
            isolation_level=IsolationLevel.READ_UNCOMMITTED,
        )
        if asked[place].result().offset >= end:
            return
        assert time.monotonic() < give_up_at_s, f"{topic} does not reach {end}"


def test_record_that_is_refused_leaves_nothing_in_the_way(settings: Settings) -> None:
    """The transaction that it was for is over; the next one is a new one."""
    ours = transactions(settings)

    with pytest.raises(Aborted):
        commit(settings, ours, [FINE, REFUSED_BY_PRODUCER])
    commit(settings, ours, [FINE])

    assert [each.value for each in records_in(settings, Topic.THREAD_EVENTS)] == [b"{}"]


@pytest.mark.parametrize(
    "outputs",
    [
        pytest.param([FINE, REFUSED_BY_PRODUCER], id="by-the-producer"),
        pytest.param([FINE, REFUSED_BY_BROKER], id="by-the-broker"),
        # The broker's word comes while the others are still handed over: then produce() says only
        # that the transaction has failed.
        pytest.param([REFUSED_BY_BROKER, *[FINE] * 300_000], id="while-others-are-produced"),
    ],
)
def test_record_that_is_refused_is_what_the_rollback_names(
    settings: Settings, outputs: list[Output]
) -> None:
    """A record of the wrong size must not look like another process of this name."""
    ours = transactions(settings)

    with pytest.raises(Aborted) as caught:
        commit(settings, ours, outputs)

    assert caught.value.error.code() == KafkaError.MSG_SIZE_TOO_LARGE
    assert records_in(settings, Topic.THREAD_EVENTS) == []


def test_newer_process_of_the_name_fences_the_older(settings: Settings) -> None:
    """Two of them would write everything twice."""
    ours = transactions(settings, At(Step.PRODUCED, lambda: transactions(settings)))

    with pytest.raises(Fenced):
        commit(settings, ours, [FINE])

    assert records_in(settings, Topic.THREAD_EVENTS) == []


def test_transaction_that_its_coordinator_ended_is_no_newer_process(settings: Settings) -> None:
    """A machine that stood still for a while starts its stage again, and need not stay away."""
    short = settings.model_copy(update={"transaction_timeout_ms": 1_000})
    # One record, then the coordinator's marker.
    ours = transactions(
        short, At(Step.PRODUCED, lambda: await_end(settings, Topic.THREAD_EVENTS, 2))
    )

    with pytest.raises(Transient, match="it took longer than it may"):
        commit(settings, ours, [FINE])

    assert records_in(settings, Topic.THREAD_EVENTS) == []
