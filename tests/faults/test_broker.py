"""The broker killed, stopped and held while a stage works: a cluster of the test's own."""

import itertools
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from confluent_kafka import Producer

from ops.kafka.broker import LocalKafka
from ops.kafka.cluster import node_folder
from ops.kafka.process import find_process
from schemas.cluster import create_topics, producer_config
from schemas.settings import Settings, load_settings
from schemas.topics import Topic
from tests.broker import DATA_DIR
from tests.kept import Kept
from tests.logs import await_records, records_in
from tests.staging import stage

EVERY_S = 0.01
# A transaction's time, the grace of the watchdog, a session, a restart: and all of it three times.
BACK_AT_WORK_S = 120.0
# Longer than a session and a transaction may last.
SILENCE_S = 8.0


class Feeder:
    """Writes a record every ten milliseconds, through whatever happens to the broker."""

    def __init__(self, settings: Settings) -> None:
        self._topic = settings.shape().name(Topic.INBOUND_EVENTS)
        self._producer = Producer(producer_config(settings) | {"message.timeout.ms": 300_000})
        self._ending = threading.Event()
        self.written = 0
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        for number in itertools.count():
            if self._ending.wait(EVERY_S):
                return
            self._producer.produce(self._topic, key=f"k{number}", value=b"plain")
            self._producer.poll(0)
            self.written = number + 1

    def end(self) -> int:
        """Write no more; how many records the broker has acked."""
        self._ending.set()
        self._thread.join()
        assert self._producer.flush(BACK_AT_WORK_S) == 0
        return self.written


@contextmanager
def cluster(folder: Path, *, nodes: int) -> Iterator[tuple[LocalKafka, Settings]]:
    """A cluster of our own with our topics, and waits that end within the test."""
    waits = {
        "partitions": 2,
        "session_timeout_ms": 6_000,
        "transaction_timeout_ms": 4_000,
        "recovery_silence_ms": 12_000,
    }
    with LocalKafka(folder / "kafka", nodes=nodes, install_dir=DATA_DIR) as kafka:
        durability = "replicated" if nodes > 1 else "single-node"
        settings = load_settings(
            bootstrap_servers=kafka.bootstrap_servers, durability=durability, **waits
        )
        create_topics(settings)
        yield kafka, settings


def killed(kafka: LocalKafka) -> None:
    """As a crash: nothing is said, nothing is flushed."""
    kafka.kill()
    kafka.start_node()


def stopped(kafka: LocalKafka) -> None:
    """In good order, as for a new version."""
    kafka.stop_node()
    kafka.start_node()


def held(kafka: LocalKafka) -> None:
    """Silent for longer than a transaction and a session may last, with its connections open."""
    found = find_process(node_folder(kafka.data_dir, 1))
    assert found is not None
    process = psutil.Process(found.pid)
    process.suspend()
    try:
        # The silence is the fault itself.
        threading.Event().wait(SILENCE_S)
    finally:
        process.resume()


def one_of_three(kafka: LocalKafka) -> None:
    """One broker after the other is lost and comes back; two are always there."""
    for node in (1, 2, 3):
        kafka.kill(node)
        kafka.start_node(node)


@pytest.mark.parametrize(
    ("happens", "nodes", "times"),
    [(killed, 1, 3), (stopped, 1, 1), (held, 1, 1), (one_of_three, 3, 1)],
    ids=["killed", "stopped", "held", "one of three"],
)
def test_stage_goes_on_when_the_broker_is_back(
    tmp_path: Path, happens: Callable[[LocalKafka], None], *, nodes: int, times: int
) -> None:
    """Each record has its effect once; the stage waits, or ends with code 3 and is started anew."""
    with cluster(tmp_path, nodes=nodes) as (kafka, settings):
        with stage(settings, tmp_path / "data") as process:
            process.start()
            process.wait_for("stage live")
            kept, feeder = Kept(process), Feeder(settings)
            for _ in range(times):
                await_records(settings, Topic.THREAD_EVENTS, feeder.written + 20)
                happens(kafka)
                await_records(
                    settings, Topic.THREAD_EVENTS, feeder.written, deadline_s=BACK_AT_WORK_S
                )
            count = feeder.end()
            await_records(settings, Topic.THREAD_EVENTS, count, deadline_s=BACK_AT_WORK_S)
            assert kept.end() == 0
        told = Counter(record.key for record in records_in(settings, Topic.THREAD_EVENTS))

    assert told == Counter(f"k{number}".encode() for number in range(count))
    assert set(kept.exit_codes) <= {3}
