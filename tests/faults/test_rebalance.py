"""Partitions that move between workers under load, on real Kafka."""

import json
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from schemas.cluster import create_topics
from schemas.settings import Settings
from schemas.topics import Topic
from tests.logs import await_records, corner, put
from tests.processes import Process
from tests.staging import stage, told
from tests.storms import Load, visit

NAMES = ("first", "second", "third")
MOVED = {"partitions revoked", "partitions lost"}
# What a store says that somebody else holds, and what nobody expected.
NEVER = ("LOCK", "lock hold", "cannot be opened", "Traceback", "StoreError")


@pytest.fixture
def settings(broker: str, prefix: str) -> Settings:
    """Six partitions, and sessions that end as soon as Kafka allows."""
    found = corner(
        broker, prefix, partitions=6, session_timeout_ms=6_000, transaction_timeout_ms=4_000
    )
    create_topics(found)
    return found


@contextmanager
def workers(settings: Settings, folder: Path, *names: str) -> Iterator[list[Process]]:
    """Workers of one stage with these names, live."""
    found = [stage(settings, folder, ONEREPLY_WORKER_NAME=name) for name in names]
    try:
        for process in found:
            process.start()
        for process in found:
            process.wait_for("stage live")
        yield found
    finally:
        for process in found:
            process.kill()


def start_again(process: Process) -> list[int]:
    """Its partitions, once it is a member again."""
    process.start()
    partitions: list[int] = process.wait_for("stage live")["partitions"]
    return partitions


def killed(_settings: Settings, process: Process) -> list[int]:
    """Killed, and started again at once."""
    process.kill()
    return start_again(process)


def stopped(_settings: Settings, process: Process) -> list[int]:
    """Stopped in good order, and started again at once."""
    assert process.terminate() == 0
    return start_again(process)


def visited(settings: Settings, _process: Process) -> None:
    """Partitions go to a guest and come back at once."""
    assert visit(settings) > 0


def left_and_came(settings: Settings, process: Process) -> None:
    """Away while a guest comes and goes, so that others are given what it had."""
    process.kill()
    visited(settings, process)
    start_again(process)


STRIKES: tuple[Callable[[Settings, Process], object], ...] = (
    visited,
    killed,
    left_and_came,
    stopped,
)


@pytest.mark.parametrize(
    "strikes", [4, pytest.param(32, marks=pytest.mark.chaos)], ids=["short", "long"]
)
def test_partitions_that_move_under_load_lose_and_double_nothing(
    settings: Settings, tmp_path: Path, strikes: int
) -> None:
    """Whoever has a partition at an instant, each event has its effects once."""
    rnd = random.Random(1)
    with workers(settings, tmp_path, *NAMES) as found:
        load = Load(settings)
        for number in range(strikes):
            STRIKES[number % len(STRIKES)](settings, rnd.choice(found))
        expected = load.end()
        await_records(settings, Topic.THREAD_EVENTS, expected.total())
        codes = [process.terminate() for process in found]
    seen = told(settings)
    said = [line for process in found for line in process.lines]

    assert seen == expected
    assert codes == [0, 0, 0]
    assert [line for line in said if any(word in line for word in NEVER)] == []
    assert sum(event_of(line) in MOVED for line in said) >= strikes // 2


def event_of(line: str) -> Any:
    """The name of what happened, or None for a line that is no log line."""
    return json.loads(line).get("event") if line.startswith("{") else None


def owned(process: Process, count: int) -> list[int]:
    """Its partitions, once it has so many: a group comes to rest in several rounds."""
    while True:
        partitions: list[int] = process.wait_for("stage live")["partitions"]
        if len(partitions) == count:
            return partitions


def tell(settings: Settings, name: str, *, before: int) -> int:
    """Records for all partitions, told by whoever has them; how many were told in all."""
    put(settings, Topic.INBOUND_EVENTS, [(f"{name}{n}".encode(), b"plain") for n in range(60)])
    await_records(settings, Topic.THREAD_EVENTS, before + 60)
    return before + 60


@pytest.mark.parametrize("again", [killed, stopped])
def test_worker_that_is_started_again_at_once_moves_nothing(
    settings: Settings, tmp_path: Path, again: Callable[[Settings, Process], list[int]]
) -> None:
    """It has the same partitions, and the other worker is not even asked."""
    with (
        workers(settings, tmp_path, "first") as (first,),
        workers(settings, tmp_path, "second") as (second,),
    ):
        had = owned(first, 3)
        # Who commits under the last round's number has heard of that round.
        count = tell(settings, "b", before=tell(settings, "a", before=0))
        lines = len(first.lines)

        has = again(settings, second)
        tell(settings, "c", before=count)
        since = {event_of(line) for line in first.lines[lines:]}
    assert sorted([*had, *has]) == list(range(6))
    assert since & {*MOVED, "stage live"} == set()
