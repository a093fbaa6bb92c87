"""How many events a second are passed once, and their repeats not at all.

Owns: the rows. Each is a function that runs one program on events that are already there.
"""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import NewTopic

from schemas.cluster import admin, consumer_config, create_topics
from schemas.events import THREAD_EVENT
from schemas.settings import Settings
from schemas.topics import Topic
from tests.bench.events import DEADLINE_S, DIRECTORY, Plan, load, measured, plan
from tests.bench.figures import Bench, Measured, Row, Say
from tests.bench.quix import PeerAbsent, quix_python
from tests.bench.running import Failed, Program
from tests.logs import corner, environ_of
from tests.processes import clean_environ

EVENTS: Final = int(os.environ.get("EVENTS", "100000"))
REPEATS: Final = int(os.environ.get("REPEATS", "3"))
OURS: Final = "our stage"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """A corner of the broker with the events in it, and a folder for state and logs."""

    settings: Settings
    events: Plan
    folder: Path

    def environ(self, **more: str) -> Mapping[str, str]:
        """The environment of a process of ours."""
        return clean_environ(**environ_of(self.settings) | more)


def our_stage(ground: Ground) -> Measured:
    """DEDUPE itself: transactions, changelog, RocksDB; and it reads and checks each payload."""
    command = [sys.executable, "-m", "processors", "dedupe"]
    program = Program(command, log=ground.folder / "ours.log", environ=ground.environ())
    try:
        with _end_watch(ground.settings) as is_done:
            program.wait_until(is_done)
        program.stop()
    finally:
        program.kill()
    return measured(
        ground.settings,
        ground.settings.shape().name(Topic.THREAD_EVENTS),
        ground.events,
        key_of=lambda _, value: THREAD_EVENT.decode(value).event_key,
        peak_bytes=program.peak_bytes,
    )


def bare_loop(ground: Ground) -> Measured:
    """The least that could hold the promise: one loop, one transaction a batch, one store."""
    _create(ground.settings, f"{_output(ground, 'bare_loop')}-state")
    return _peer(ground, "bare_loop", sys.executable)


def faust(ground: Ground) -> Measured:
    """A Faust agent with a table. At least once: its exactly-once mode loses and doubles."""
    return _peer(ground, "faust_dedupe", sys.executable)


def quix_once(ground: Ground) -> Measured:
    """Quix Streams, exactly once."""
    return _peer(ground, "quix_dedupe", str(quix_python()), "--guarantee", "exactly-once")


def quix_at_least_once(ground: Ground) -> Measured:
    """Quix Streams, at least once."""
    return _peer(ground, "quix_dedupe", str(quix_python()), "--guarantee", "at-least-once")


ROWS: Final[Mapping[str, Callable[[Ground], Measured]]] = {
    OURS: our_stage,
    "bare loop": bare_loop,
    "Faust, at least once": faust,
    "Quix, exactly once": quix_once,
    "Quix, at least once": quix_at_least_once,
}


def bench() -> Bench:
    """The bench, not yet run."""
    rows = {name: Row() for name in ROWS}

    def run(servers: str, folder: Path, say: Say) -> None:
        wanted = plan(EVENTS)
        for number in range(1, REPEATS + 1):
            ground = _ground(servers, folder / f"run-{number}", wanted)
            for name, row in ROWS.items():
                _run(rows[name], row, ground)
                say(f"  run {number}: {name}: {_told(rows[name])}")

    return Bench(
        name="dedupe",
        question="events a second, each passed once, its repeats not at all",
        given=f"{EVENTS:,} events of 1 kB, a tenth of them twice; {REPEATS} runs, one broker",
        base=OURS,
        run=run,
        rows=rows,
    )


def _ground(servers: str, folder: Path, wanted: Plan) -> Ground:
    folder.mkdir(parents=True)
    (folder / "onereply.toml").write_text(DIRECTORY, encoding="utf-8")
    settings = corner(
        servers,
        f"bench-{os.getpid()}-{folder.name}-",
        config_file=str(folder / "onereply.toml"),
        data_dir=str(folder / "data"),
    )
    create_topics(settings)
    load(settings, wanted)
    return Ground(settings=settings, events=wanted, folder=folder)


def _run(row: Row, measure: Callable[[Ground], Measured], ground: Ground) -> None:
    try:
        row.runs.append(measure(ground))
    except PeerAbsent as absent:
        row.absent = f"not run: {absent}"
    except Failed as failed:
        row.runs.append(Measured(per_second=0.0, peak_bytes=0, problem=f"FAILED: {failed}"))


def _told(row: Row) -> str:
    if not row.runs:
        return row.absent
    last = row.runs[-1]
    return last.problem or f"{last.per_second:,.0f}/s"


def _peer(ground: Ground, program_name: str, python: str, *more: str) -> Measured:
    output = _output(ground, program_name, *more)
    _create(ground.settings, output)
    options = {
        "--servers": ground.settings.bootstrap_servers,
        "--input": ground.settings.shape().name(Topic.INBOUND_EVENTS),
        "--output": output,
        "--events": str(len(ground.events.keys)),
        "--unique": str(len(ground.events.unique)),
        "--state": str(ground.folder / output),
    }
    words = [word for pair in options.items() for word in pair]
    command = [python, "-m", f"tests.bench.peers.{program_name}", *words, *more]
    program = Program(command, log=ground.folder / f"{output}.log", environ=ground.environ())
    try:
        program.wait()
    finally:
        program.kill()
    return measured(
        ground.settings,
        output,
        ground.events,
        key_of=lambda key, _: (key or b"").decode(),
        peak_bytes=program.peak_bytes,
    )


def _output(ground: Ground, *words: str) -> str:
    """The topic of a peer; its group and its state go by the same name."""
    name = "-".join(word.strip("-").replace("_", "-") for word in words)
    return f"{ground.settings.topic_prefix}{name}"


def _create(settings: Settings, name: str) -> None:
    topic = NewTopic(
        name,
        num_partitions=settings.partitions,
        replication_factor=1,
        config={"message.timestamp.type": "LogAppendTime"},
    )
    client = admin(settings)
    for future in client.create_topics([topic]).values():
        future.result(DEADLINE_S)


@contextmanager
def _end_watch(settings: Settings) -> Iterator[Callable[[], bool]]:
    """A cheap question: whether the stage's next offsets stand at the end of the input."""
    name = settings.shape().name(Topic.INBOUND_EVENTS)
    consumer = Consumer(consumer_config(settings, group=f"{settings.topic_prefix}dedupe"))
    try:
        asked = [TopicPartition(name, number) for number in range(settings.partitions)]
        ends = [consumer.get_watermark_offsets(each, DEADLINE_S)[1] for each in asked]

        def is_done() -> bool:
            return [each.offset for each in consumer.committed(asked, DEADLINE_S)] == ends

        yield is_done
    finally:
        consumer.close()
