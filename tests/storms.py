"""Load on the test stage while its partitions move: what was written, and members that come and go.

Owns: records with a known effect, and a guest that takes partitions from the workers and leaves.
May not: judge; a test compares `expected` with what was told.
"""

import itertools
import threading
import time
from collections import Counter
from typing import Final

from confluent_kafka import Consumer, Producer, TopicPartition

from schemas.cluster import consumer_config, producer_config
from schemas.settings import Settings
from schemas.topics import Topic
from tests.processes import DEADLINE_S
from tests.staging import Told

EVERY_S: Final = 0.005
# A copy comes as much later as several rebalances take.
COPY_AFTER: Final = 400
VALUES: Final = (b"plain", b"later", b"plain", b"outside", b"plain")
FOLLOWS: Final = {b"later": b"told later", b"outside": b"told outside"}


class Load:
    """Writes 200 new keys a second, some of which are told again, and a copy of each."""

    def __init__(self, settings: Settings) -> None:
        self._topic = settings.shape().name(Topic.INBOUND_EVENTS)
        self._producer = Producer(producer_config(settings))
        self._ending = threading.Event()
        self._written = 0
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        for number in itertools.count():
            if self._ending.wait(EVERY_S):
                return
            self._put(number)
            if number >= COPY_AFTER:
                self._put(number - COPY_AFTER)
            self._written = number + 1

    def _put(self, number: int) -> None:
        key, value = _record(number)
        self._producer.produce(self._topic, key=key, value=value)
        self._producer.poll(0)

    def end(self) -> Counter[Told]:
        """Write no more; everything that is to be told, once."""
        self._ending.set()
        self._thread.join()
        assert self._producer.flush(DEADLINE_S) == 0
        records = [_record(number) for number in range(self._written)]
        later = [(key, FOLLOWS[value]) for key, value in records if value in FOLLOWS]
        return Counter([*records, *later])


def _record(number: int) -> tuple[bytes, bytes]:
    return f"k{number}".encode(), VALUES[number % len(VALUES)]


def visit(settings: Settings, stage: str = "dedupe", topic: Topic = Topic.INBOUND_EVENTS) -> int:
    """A guest joins the group, is given partitions, does nothing and leaves; how many it had."""
    had: list[TopicPartition] = []
    options = consumer_config(settings, group=f"{settings.topic_prefix}{stage}") | {
        "group.protocol": "classic",
        "partition.assignment.strategy": "cooperative-sticky",
        "session.timeout.ms": settings.session_timeout_ms,
    }
    guest = Consumer(options)
    try:

        def take(consumer: Consumer, given: list[TopicPartition]) -> None:
            """Hold what it is given, and read nothing of it."""
            places = [TopicPartition(each.topic, each.partition, 0) for each in given]
            consumer.incremental_assign(places)
            if places:
                consumer.pause(places)
            had.extend(given)

        guest.subscribe([settings.shape().name(topic)], on_assign=take)
        give_up_at_s = time.monotonic() + DEADLINE_S
        while not had:
            guest.poll(0.05)
            assert time.monotonic() < give_up_at_s, "the guest was given no partition"
    finally:
        # Without a static name it leaves at once, and the group is balanced again.
        guest.close()
    return len(had)
