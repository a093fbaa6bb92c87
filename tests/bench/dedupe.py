"""How many events a second are passed once, and their repeats not at all.

Owns: the rows. Each is a function that runs one program on events that are already there.
"""

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from schemas.events import THREAD_EVENT
from schemas.topics import Topic
from tests.bench import bare
from tests.bench.events import Plan, load, measured, plan
from tests.bench.figures import RATE, Bench, Measured, Row, Say, wrong
from tests.bench.ground import Ground, add_topic, end_watch, new_ground
from tests.bench.quix import quix_python
from tests.bench.running import Failed, PeerAbsent, Program
from tests.bench.streams import streams_command

EVENTS: Final = int(os.environ.get("EVENTS", "100000"))
REPEATS: Final = int(os.environ.get("REPEATS", "3"))
# Of Kafka Streams, one for each core of a small machine; one and four came to much the same.
THREADS: Final = 2
BASE: Final = "ours_full"


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A corner of the broker, and the events that lie in it."""

    ground: Ground
    events: Plan


def ours_bare(task: Task) -> Measured:
    """The runtime, with a stage that does what the peers do: a key, and bytes passed on."""
    command = ["tests.bench.bare"]
    program = _our_program(task.ground, command, stage=bare.NAME)
    topic = task.ground.name(bare.OUTPUT)
    return measured(
        task.ground.settings, topic, task.events, key_of=_own_key, peak_mib=program.peak_mib
    )


def ours_full(task: Task) -> Measured:
    """DEDUPE itself: it also reads, checks and normalises each payload."""
    program = _our_program(task.ground, ["processors", "dedupe"], stage="dedupe")
    return measured(
        task.ground.settings,
        task.ground.name(Topic.THREAD_EVENTS),
        task.events,
        key_of=lambda _, value: THREAD_EVENT.decode(value).event_key,
        peak_mib=program.peak_mib,
    )


def kafka_streams(task: Task) -> Measured:
    """Kafka Streams on the JVM, exactly once."""
    return _peer(
        task,
        "kafka_streams",
        streams_command(),
        **{"--guarantee": "exactly_once_v2", "--threads": str(THREADS)},
    )


def bare_loop(task: Task) -> Measured:
    """The least that could hold the promise: one loop, one transaction a batch, one store."""
    add_topic(task.ground.settings, f"{_output(task.ground, 'bare_loop')}-state")
    return _peer(task, "bare_loop", _module(sys.executable, "bare_loop"))


def quix(task: Task) -> Measured:
    """Quix Streams, exactly once."""
    command = _module(str(quix_python()), "quix_dedupe")
    return _peer(task, "quix", command, **{"--guarantee": "exactly-once"})


def faust(task: Task) -> Measured:
    """A Faust agent with a table. At least once: its exactly-once mode loses and doubles."""
    return _peer(task, "faust", _module(sys.executable, "faust_dedupe"))


ROWS: Final[Mapping[str, Callable[[Task], Measured]]] = {
    "ours_bare": ours_bare,
    "ours_full": ours_full,
    "kafka_streams": kafka_streams,
    "bare_loop": bare_loop,
    "quix": quix,
    "faust": faust,
}


def bench() -> Bench:
    """The bench, not yet run."""
    rows = {name: Row() for name in ROWS}

    def run(servers: str, folder: Path, say: Say) -> None:
        wanted = plan(EVENTS)
        for number in range(1, REPEATS + 1):
            ground = new_ground(servers, folder / f"dedupe-{number}")
            load(ground.settings, wanted)
            for name in _turned(list(ROWS), number - 1):
                _run(rows[name], ROWS[name], Task(ground=ground, events=wanted))
                say(f"  run {number}: {name}: {_told(rows[name])}")

    return Bench(
        name="dedupe",
        question="events a second, each passed once, its repeats not at all",
        given=f"{EVENTS:,} events of 1 KiB, 5 % of them twice; {REPEATS} runs, one broker",
        base=BASE,
        run=run,
        rows=rows,
    )


def _turned(names: list[str], by: int) -> list[str]:
    """Every run begins with another row: the first of a run finds a broker that is less warm."""
    first = by % len(names)
    return names[first:] + names[:first]


def _run(row: Row, measure: Callable[[Task], Measured], task: Task) -> None:
    try:
        row.runs.append(measure(task))
    except PeerAbsent as absent:
        row.absent = f"not run: {absent}"
    except Failed as failed:
        row.runs.append(wrong(f"FAILED: {failed}"))


def _told(row: Row) -> str:
    if not row.runs:
        return row.absent
    last = row.runs[-1]
    return last.problem or f"{last.figures[RATE]:,.0f}/s"


def _our_program(ground: Ground, command: list[str], *, stage: str) -> Program:
    program = Program(
        [sys.executable, "-m", *command],
        log=ground.folder / f"{stage}.log",
        environ=ground.environ(),
    )
    try:
        with end_watch(ground, stage=stage, topic=Topic.INBOUND_EVENTS) as is_done:
            program.wait_until(is_done)
        program.stop()
    finally:
        program.kill()
    return program


def _peer(task: Task, name: str, command: list[str], **more: str) -> Measured:
    ground, output = task.ground, _output(task.ground, name)
    add_topic(ground.settings, output)
    options = {
        "--servers": ground.settings.bootstrap_servers,
        "--input": ground.name(Topic.INBOUND_EVENTS),
        "--output": output,
        "--events": str(len(task.events.keys)),
        "--unique": str(len(task.events.unique)),
        "--state": str(ground.folder / output),
    }
    words = [word for pair in (options | more).items() for word in pair]
    program = Program(
        [*command, *words], log=ground.folder / f"{output}.log", environ=ground.environ()
    )
    try:
        program.wait()
    finally:
        program.kill()
    return measured(
        ground.settings, output, task.events, key_of=_own_key, peak_mib=program.peak_mib
    )


def _module(python: str, name: str) -> list[str]:
    return [python, "-m", f"tests.bench.peers.{name}"]


def _own_key(key: bytes | None, _value: bytes | None) -> str:
    return (key or b"").decode()


def _output(ground: Ground, name: str) -> str:
    """The topic of a peer; its group and its state go by the same name."""
    return f"{ground.settings.topic_prefix}{name.replace('_', '-')}"
