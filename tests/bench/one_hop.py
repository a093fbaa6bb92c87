"""How long one stage holds an event up: DEDUPE alone, at a pace that asks little of it.

Owns: the two ways to see the hop: by when the broker appended the output, and by when a reader
that waits for commits had it in hand.
May not: count what was there before it began.
"""

import time
from collections.abc import Sequence
from pathlib import Path
from threading import Event, Thread
from typing import Final

from confluent_kafka import Consumer, Producer, TopicPartition

from schemas.cluster import consumer_config, producer_config
from schemas.events import THREAD_EVENT
from schemas.topics import Topic
from tests.bench.events import DEADLINE_S, Plan, bodies, door_headers, plan, problem_of, read_all
from tests.bench.figures import Measured, quantiles
from tests.bench.ground import Ground, new_ground
from tests.processes import Process

ALONE: Final = "dedupe_alone_appended"
SEEN: Final = "dedupe_alone_read"
# Not counted: the first seconds of a process and of its topics are not a hop.
WARM_UP: Final = 100


class _Reader:
    """Reads `thread-events` as the next stage would, and notes when each event was in hand."""

    def __init__(self, ground: Ground, *, wanted: int) -> None:
        options = consumer_config(ground.settings, group="bench-hop")
        self._consumer = Consumer(options | {"auto.offset.reset": "earliest"})
        self._topic = ground.name(Topic.THREAD_EVENTS)
        self._wanted = wanted
        self._partitions = ground.settings.partitions
        self.at_ms: dict[str, float] = {}
        self._thread = Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        places = [TopicPartition(self._topic, number, 0) for number in range(self._partitions)]
        self._consumer.assign(places)
        give_up_at_s = time.monotonic() + DEADLINE_S
        while len(self.at_ms) < self._wanted and time.monotonic() < give_up_at_s:
            message = self._consumer.poll(0.5)
            if message is None or message.error() is not None:
                continue
            at_ms = time.time() * 1000
            self.at_ms.setdefault(THREAD_EVENT.decode(message.value() or b"").event_key, at_ms)
        self._consumer.close()

    def wait(self) -> None:
        """Return when all events were read, or the deadline has passed."""
        self._thread.join(DEADLINE_S)


def hop_alone(
    servers: str, folder: Path, *, events: int, per_second: float
) -> tuple[Measured, Measured]:
    """The hop by appends, and the hop as the next stage sees it."""
    ground, wanted = new_ground(servers, folder), plan(WARM_UP + events)
    with Process("processors", "dedupe", environ=ground.environ()) as stage:
        stage.start()
        stage.wait_for("stage live")
        reader = _Reader(ground, wanted=len(wanted.unique))
        _write(ground, list(bodies(wanted)), per_second=per_second)
        reader.wait()
    begun = _begun(ground, wanted)
    keys, ended = _ended(ground)
    problem = problem_of(keys, wanted)
    appended, read = (_hop(begun, each, problem=problem) for each in (ended, reader.at_ms))
    return appended, read


def _begun(ground: Ground, wanted: Plan) -> dict[str, float]:
    """When the first record of each key came, the warm-up left out."""
    begun: dict[str, float] = {}
    for key, _, at_ms in read_all(ground.settings, ground.name(Topic.INBOUND_EVENTS)):
        begun.setdefault((key or b"").decode(), at_ms)
    for warm_up in wanted.keys[:WARM_UP]:
        begun.pop(warm_up, None)
    return begun


def _ended(ground: Ground) -> tuple[list[str], dict[str, float]]:
    """The keys that came out, repeats included, and when."""
    found = [
        (THREAD_EVENT.decode(value or b"").event_key, float(at_ms))
        for _, value, at_ms in read_all(ground.settings, ground.name(Topic.THREAD_EVENTS))
    ]
    return [key for key, _ in found], dict(found)


def _hop(begun: dict[str, float], ended: dict[str, float], *, problem: str) -> Measured:
    times = [at_ms - begun[key] for key, at_ms in ended.items() if key in begun]
    if not times:
        return Measured(figures={}, problem=problem or "WRONG: nothing came")
    return Measured(figures=quantiles(times), problem=problem)


def _write(ground: Ground, records: Sequence[tuple[str, bytes]], *, per_second: float) -> None:
    """Write one record at a time, at that pace, as the door does."""
    producer = Producer(producer_config(ground.settings) | {"linger.ms": 0})
    name, pace, began_s = ground.name(Topic.INBOUND_EVENTS), Event(), time.monotonic()
    for number, (key, value) in enumerate(records):
        pace.wait(max(0.0, began_s + number / per_second - time.monotonic()))
        producer.produce(name, key=key, value=value, headers=[*door_headers()])
        producer.poll(0)
    if producer.flush(DEADLINE_S):
        raise TimeoutError("the broker did not take the events in time")
