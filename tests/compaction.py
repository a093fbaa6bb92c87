"""Real compaction of a topic's partition, waited for by what can be read of it.

Owns: the options that make the cleaner look soon, and the signal that it has been there.
May not: know what the records mean.
"""

import time

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from schemas.cluster import admin, consumer_config, transactional_config
from schemas.settings import Settings
from schemas.topics import Topic
from tests.processes import DEADLINE_S

# Segments close at once, and one record in a hundred is reason enough to clean.
SOON = {
    "segment.ms": "100",
    "min.cleanable.dirty.ratio": "0.01",
    "min.compaction.lag.ms": "0",
    "max.compaction.lag.ms": "100",
}


def clean_soon(settings: Settings, topic: Topic) -> None:
    """Let the topic be compacted as soon as the broker's cleaner comes by (every 15 s)."""
    entries = [
        ConfigEntry(option, value, incremental_operation=AlterConfigOpType.SET)
        for option, value in SOON.items()
    ]
    name = settings.shape().name(topic)
    resource = ConfigResource(ResourceType.TOPIC, name, incremental_configs=entries)
    client = admin(settings)
    client.incremental_alter_configs([resource])[resource].result(DEADLINE_S)


def offsets_in(settings: Settings, topic: Topic, *, committed: bool) -> tuple[list[int], int]:
    """The offsets of the records that can be read in partition 0, and the log's end."""
    level = "read_committed" if committed else "read_uncommitted"
    options = consumer_config(settings, group="tests") | {
        "enable.partition.eof": True,
        "isolation.level": level,
        "auto.offset.reset": "earliest",
    }
    consumer, offsets = Consumer(options), list[int]()
    place = TopicPartition(settings.shape().name(topic), 0, 0)
    try:
        consumer.assign([place])
        while True:
            message = consumer.poll(DEADLINE_S)
            assert message is not None, f"{topic} was not read to its end"
            if message.error() is not None:
                # The end, told by its own event.
                return offsets, message.offset() or 0
            offsets.append(message.offset() or 0)
    finally:
        consumer.close()


def await_cleaned(settings: Settings, topic: Topic, *, most: int) -> list[int]:
    """The offsets that are left, once these are no more than that many."""
    give_up_at_s = time.monotonic() + DEADLINE_S
    while True:
        left, _ = offsets_in(settings, topic, committed=True)
        if len(left) <= most:
            return left
        assert time.monotonic() < give_up_at_s, f"{topic} was not compacted: {len(left)} are left"


def abort_at_end(settings: Settings, topic: Topic, rows: dict[bytes, bytes | None]) -> None:
    """Write these into partition 0 by a transaction, and take it back: they stay in the log."""
    producer = Producer(transactional_config(settings, f"{settings.topic_prefix}somebody"))
    producer.init_transactions(DEADLINE_S)
    producer.begin_transaction()
    for key, value in rows.items():
        producer.produce(settings.shape().name(topic), value, key=key, partition=0)
    assert producer.flush(DEADLINE_S) == 0
    producer.abort_transaction(DEADLINE_S)
