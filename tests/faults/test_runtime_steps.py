"""The runtime killed on each side of each numbered step, on real Kafka."""

from collections import Counter
from pathlib import Path

import pytest

from processors.runtime.steps import Step
from schemas.cluster import create_topics
from schemas.topics import Topic
from tests.logs import await_records, corner, put, records_in
from tests.staging import Told, stage, told

EVENTS: list[Told] = [(f"k{number}".encode(), b"plain") for number in range(40)]
TOLD_TWICE: list[Told] = [(b"timer", b"later"), (b"call", b"outside")]
EXPECTED: Counter[Told] = Counter(
    [
        *EVENTS,
        (b"timer", b"later"),
        (b"timer", b"told later"),
        (b"call", b"outside"),
        (b"call", b"told outside"),
    ]
)


@pytest.mark.parametrize("step", list(Step))
def test_kill_at_a_step_neither_loses_nor_doubles(
    broker: str, prefix: str, tmp_path: Path, *, step: Step
) -> None:
    """Whatever instant a process dies at, each event has its effect once."""
    settings = corner(broker, prefix, partitions=2)
    create_topics(settings)
    put(settings, Topic.INBOUND_EVENTS, EVENTS + TOLD_TWICE + EVENTS)

    with stage(settings, tmp_path) as process:
        nth = 3 if step is Step.POLLED else 1
        process.start(ONEREPLY_HALT_AT=f"{step}:{nth}")
        process.wait_halted()
        process.kill()
        process.start()
        await_records(settings, Topic.THREAD_EVENTS, EXPECTED.total())
        assert process.terminate() == 0

    assert told(settings) == EXPECTED


def test_store_that_is_lost_is_rebuilt_from_its_changelog(
    broker: str, prefix: str, tmp_path: Path
) -> None:
    """A disk may go; what was seen stays seen."""
    settings = corner(broker, prefix, partitions=2)
    create_topics(settings)
    put(settings, Topic.INBOUND_EVENTS, EVENTS + TOLD_TWICE)
    with stage(settings, tmp_path / "first") as process:
        process.start()
        await_records(settings, Topic.THREAD_EVENTS, EXPECTED.total())
        assert process.terminate() == 0

    put(settings, Topic.INBOUND_EVENTS, [*EVENTS, (b"new", b"plain")])
    with stage(settings, tmp_path / "second") as process:
        process.start()
        await_records(settings, Topic.THREAD_EVENTS, EXPECTED.total() + 1)
        assert process.terminate() == 0

    assert told(settings) == EXPECTED + Counter([(b"new", b"plain")])


def test_record_that_cannot_be_processed_is_set_aside_and_the_rest_goes_on(
    broker: str, prefix: str, tmp_path: Path
) -> None:
    """One bad record must not stop a partition, and must not vanish."""
    settings = corner(broker, prefix, partitions=1)
    create_topics(settings)
    put(settings, Topic.INBOUND_EVENTS, [(b"one", b"bad"), (b"two", b"plain")])

    with stage(settings, tmp_path) as process:
        process.start()
        await_records(settings, Topic.THREAD_EVENTS, 1)
        assert process.terminate() == 0

    (dead,) = records_in(settings, Topic.DEAD_LETTERS)
    assert (dead.key, dead.value) == (b"one", b"bad")
    assert dead.headers["onereply-dead-reason"] == b"it says that it is bad"
    assert dead.headers["onereply-dead-offset"] == b"0"
    assert told(settings) == Counter([(b"two", b"plain")])


def test_two_workers_share_partitions_and_one_takes_over_from_the_killed(
    broker: str, prefix: str, tmp_path: Path
) -> None:
    """A worker that never returns loses its partitions, not its events."""
    settings = corner(
        broker, prefix, partitions=4, session_timeout_ms=6_000, transaction_timeout_ms=3_000
    )
    create_topics(settings)
    first = stage(settings, tmp_path / "a")
    second = stage(settings, tmp_path / "b")
    with first, second:
        first.start()
        first.wait_for("stage live")
        put(settings, Topic.INBOUND_EVENTS, EVENTS[:20])
        await_records(settings, Topic.THREAD_EVENTS, 20)
        second.start(ONEREPLY_WORKER_NAME="worker-2")
        second.wait_for("stage live")
        first.kill()
        put(settings, Topic.INBOUND_EVENTS, EVENTS)
        await_records(settings, Topic.THREAD_EVENTS, 40)
        assert second.terminate() == 0

    assert told(settings) == Counter(EVENTS)
