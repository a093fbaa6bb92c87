"""The events of the dedupe bench: what the door would write, one in twenty of it twice.

Owns: the input, and what a right output is.
May not: be different for two rows.
"""

import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from schemas.cluster import consumer_config, producer_config
from schemas.headers import PROVIDER, RECEIVED_AT, Headers
from schemas.settings import Settings
from schemas.topics import Topic
from tests.bench.figures import PEAK_MIB, RATE, Measured, wrong
from tests.payloads import INBOX, a_mail_body

SOURCE: Final = "support"
DIRECTORY: Final = f"""
[workspaces.main]
[sources.{SOURCE}]
provider = "agentmail"
workspace = "main"
secrets = ["BENCH_SECRET"]
[inboxes."{INBOX}"]
workspace = "main"
"""
# With the rest of the body about 1 KiB: a short mail.
TEXT: Final = "I wrote to you on Monday and have not had an answer yet. " * 12
REPEATED: Final = 0.05
DEADLINE_S: Final = 120.0
_PROGRESS: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How many events, and which keys are among them: `keys` in their order, repeats included."""

    keys: tuple[str, ...]

    @property
    def unique(self) -> frozenset[str]:
        """Each key once: what must come out."""
        return frozenset(self.keys)


def plan(events: int) -> Plan:
    """A plan that is the same on every machine."""
    chance = random.Random(events)
    numbers = range(events)
    return Plan(
        keys=tuple(
            f"{SOURCE}/evt_{chance.randrange(n) if n and chance.random() < REPEATED else n}"
            for n in numbers
        )
    )


def bodies(wanted: Plan) -> Iterator[tuple[str, bytes]]:
    """The records in their order, each a key and a body."""
    for key in wanted.keys:
        event_id = key.partition("/")[2]
        body = a_mail_body(message_id=f"<{event_id}@customer.example>", text=TEXT)
        yield key, body.replace(b'"event_id":"evt_1"', f'"event_id":"{event_id}"'.encode())


def door_headers() -> Headers:
    """What the door would write beside a body now."""
    return ((RECEIVED_AT, b"%d" % (time.time_ns() // 1_000_000)), (PROVIDER, b"agentmail"))


def load(settings: Settings, wanted: Plan) -> None:
    """Write all events to `inbound-events`."""
    producer = Producer(producer_config(settings) | {"linger.ms": 20})
    name, headers = settings.shape().name(Topic.INBOUND_EVENTS), door_headers()
    for number, (key, value) in enumerate(bodies(wanted)):
        producer.produce(name, key=key, value=value, headers=[*headers])
        if number % _PROGRESS == 0:
            producer.poll(0)
            if len(producer) > _PROGRESS:
                producer.flush(DEADLINE_S)
    if producer.flush(DEADLINE_S):
        raise TimeoutError("the broker did not take the events in time")


def measured(
    settings: Settings,
    topic: str,
    wanted: Plan,
    *,
    key_of: Callable[[bytes | None, bytes | None], str],
    peak_mib: float,
) -> Measured:
    """The rate between the first output and the last, by the broker's clock; and the check."""
    came = list(read_all(settings, topic))
    keys = [key_of(key, value) for key, value, _ in came]
    if problem := problem_of(keys, wanted):
        return wrong(problem)
    per_second = rate_of([at_ms for _, _, at_ms in came], events=len(wanted.keys))
    return Measured(figures={RATE: per_second, PEAK_MIB: peak_mib})


def rate_of(times_ms: Sequence[int], *, events: int) -> float:
    """Events a second, where outputs were appended at these times.

    The first tenth is not counted: a program reads a whole batch before its first output, and how
    long that took is not known.
    """
    times = sorted(times_ms)
    begun = times[len(times) // 10]
    share = sum(1 for at_ms in times if at_ms > begun) / len(times)
    return events * share / max(times[-1] - begun, 1) * 1000


def problem_of(keys: Sequence[str], wanted: Plan) -> str:
    """What is wrong with these outputs; empty when each key came once and no other came."""
    came = frozenset(keys)
    lost, alien = len(wanted.unique - came), len(came - wanted.unique)
    twice = len(keys) - len(came)
    if lost or twice or alien:
        return f"WRONG: {lost} lost, {twice} twice, {alien} unknown"
    return ""


def read_all(settings: Settings, topic: str) -> Iterable[tuple[bytes | None, bytes | None, int]]:
    """Everything committed in a topic: key, value, and when the broker appended it."""
    options = consumer_config(settings, group="bench") | {"enable.partition.eof": True}
    consumer = Consumer(options)
    try:
        numbers = consumer.list_topics(topic, DEADLINE_S).topics[topic].partitions
        consumer.assign([TopicPartition(topic, number, 0) for number in numbers])
        ended: set[int | None] = set()
        while len(ended) < len(numbers):
            message = consumer.poll(DEADLINE_S)
            if message is None:
                raise TimeoutError(f"{topic} was not read to its end")
            error = message.error()
            if error is None:
                yield message.key(), message.value(), message.timestamp()[1]
            elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001  # the library's public constant has this name
                ended.add(message.partition())
    finally:
        consumer.close()
