"""What lies in topics, read as any consumer would read it."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, cast

from confluent_kafka import Consumer, Message, Producer, TopicPartition

from schemas.cluster import consumer_config, producer_config
from schemas.settings import Settings, load_settings
from schemas.topics import Topic
from tests.processes import DEADLINE_S


class Stored(NamedTuple):
    """A record as it lies in a topic."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: dict[str, bytes | None]


def corner(servers: str, prefix: str, **settings: Any) -> Settings:
    """The settings of a test's own corner of the broker."""
    return load_settings(
        bootstrap_servers=servers, topic_prefix=prefix, durability="single-node", **settings
    )


def environ_of(settings: Settings) -> dict[str, str]:
    """The same for a process of ours: every setting that was given."""
    return {
        f"ONEREPLY_{name.upper()}": str(value)
        for name, value in settings.model_dump(exclude_unset=True).items()
    }


@contextmanager
def _reader(settings: Settings, topic: Topic) -> Iterator[tuple[Consumer, int]]:
    consumer = Consumer(consumer_config(settings, group="tests") | {"enable.partition.eof": True})
    name = settings.shape().name(topic)
    try:
        numbers = consumer.list_topics(name, DEADLINE_S).topics[name].partitions
        consumer.assign([TopicPartition(name, number, 0) for number in numbers])
        yield consumer, len(numbers)
    finally:
        consumer.close()


def records_in(settings: Settings, topic: Topic) -> list[Stored]:
    """Everything committed in a topic up to its present end, partition by partition."""
    records: list[Stored] = []
    with _reader(settings, topic) as (consumer, partitions):
        ended: set[int] = set()
        while len(ended) < partitions:
            message = consumer.poll(DEADLINE_S)
            assert message is not None, f"{topic} was not read to its end"
            if message.error() is None:
                records.append(_stored(message))
            else:
                ended.add(message.partition() or 0)
    return sorted(records, key=lambda record: (record.partition, record.offset))


def await_records(
    settings: Settings, topic: Topic, count: int, *, deadline_s: float = DEADLINE_S
) -> list[Stored]:
    """The first `count` committed records, as soon as they are there."""
    records: list[Stored] = []
    give_up_at_s = time.monotonic() + deadline_s
    with _reader(settings, topic) as (consumer, _):
        while len(records) < count:
            left_s = give_up_at_s - time.monotonic()
            assert left_s > 0, f"{len(records)} of {count} records came to {topic}"
            message = consumer.poll(min(left_s, 1.0))
            if message is not None and message.error() is None:
                records.append(_stored(message))
    return records


def put(
    settings: Settings, topic: Topic, pairs: Sequence[tuple[bytes | None, bytes | None]]
) -> None:
    """Write records and wait for the broker's acks."""
    producer = Producer(producer_config(settings))
    for key, value in pairs:
        producer.produce(settings.shape().name(topic), key=key, value=value)
    assert producer.flush(DEADLINE_S) == 0


def _stored(message: Message) -> Stored:
    # Bytes, because no deserializer is set; the library's types allow for one.
    return Stored(
        partition=message.partition() or 0,
        offset=message.offset() or 0,
        key=message.key(),
        value=message.value(),
        headers=dict(cast("list[tuple[str, bytes | None]]", message.headers() or [])),
    )
