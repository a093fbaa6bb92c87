"""Workers that were stopped past their session and wake up, on real Kafka."""

import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from processors.runtime.steps import Step
from schemas.cluster import create_topics
from schemas.settings import Settings
from schemas.topics import Topic
from tests.logs import await_records, corner, put
from tests.processes import Process
from tests.staging import Told, stage, told

BATCH: list[Told] = [(f"k{number}".encode(), b"plain") for number in range(20)]
AFTERWARDS: list[Told] = [(f"after{number}".encode(), b"plain") for number in range(20)]
# The session, the transaction's time, and ten times what taking over needs.
TAKEN_OVER_S = 60.0


@contextmanager
def two_workers(settings: Settings, folder: Path) -> Iterator[tuple[Process, Process]]:
    """Two workers of one stage, not started."""
    with (
        stage(settings, folder / "first", ONEREPLY_WORKER_NAME="first") as first,
        stage(settings, folder / "second", ONEREPLY_WORKER_NAME="second") as second,
    ):
        yield first, second


@pytest.fixture
def settings(broker: str, prefix: str) -> Settings:
    """Short waits: a silent worker is replaced within seconds."""
    found = corner(
        broker, prefix, partitions=2, session_timeout_ms=6_000, transaction_timeout_ms=4_000
    )
    create_topics(found)
    return found


def wake(process: Process) -> None:
    """It goes on where it stood."""
    psutil.Process(process.pid).send_signal(signal.SIGCONT)


STEPS = (Step.POLLED, Step.DECIDED, Step.PRODUCED, Step.OFFSETS_SENT, Step.COMMITTED)
IN_HAND: dict[str, tuple[list[Told], Counter[Told]]] = {
    "batch": (BATCH, Counter(BATCH)),
    "timer": ([(b"timer", b"later")], Counter([(b"timer", b"later"), (b"timer", b"told later")])),
    "result": (
        [(b"call", b"outside")],
        Counter([(b"call", b"outside"), (b"call", b"told outside")]),
    ),
}
# Each takes 10 s, most of it the session that must end: one of each kind is in every test run.
SHORT = {("batch", Step.DECIDED), ("timer", Step.PRODUCED), ("result", Step.OFFSETS_SENT)}


@pytest.mark.parametrize(
    ("kind", "step"),
    [
        pytest.param(kind, step, marks=() if (kind, step) in SHORT else pytest.mark.chaos)
        for kind in IN_HAND
        for step in STEPS
    ],
)
def test_worker_that_wakes_after_its_partitions_moved_commits_nothing(
    settings: Settings,
    tmp_path: Path,
    *,
    kind: str,
    step: Step,
) -> None:
    """Whatever it has in hand belongs to another by now, who has told it already."""
    events, expected = IN_HAND[kind]
    with two_workers(settings, tmp_path) as (first, second):
        # A single event is in the first batch, and what follows from it in the second.
        nth = 1 if kind == "batch" or step is Step.POLLED else 2
        put(settings, Topic.INBOUND_EVENTS, events)
        first.start(ONEREPLY_HALT_AT=f"{step}:{nth}")
        first.wait_halted()
        second.start()
        second.wait_for("stage live")
        await_records(settings, Topic.THREAD_EVENTS, expected.total(), deadline_s=TAKEN_OVER_S)

        wake(first)
        put(settings, Topic.INBOUND_EVENTS, AFTERWARDS + events)
        await_records(
            settings,
            Topic.THREAD_EVENTS,
            expected.total() + len(AFTERWARDS),
            deadline_s=TAKEN_OVER_S,
        )
        assert second.terminate() == 0

    assert told(settings) == expected + Counter(AFTERWARDS)
