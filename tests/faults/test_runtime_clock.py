"""Timers of the runtime under wrong clocks, restarts and takeovers, on real Kafka."""

from collections import Counter
from pathlib import Path

import pytest

from processors.runtime.rows import POSITION_KEY
from processors.runtime.steps import Step
from schemas.cluster import create_topics
from schemas.settings import Settings
from schemas.topics import Topic
from tests.logs import await_records, corner, put, records_in
from tests.staging import stage, told

SKEWS_MS = {
    "true": 0,
    "two-days-ahead": 2 * 24 * 3_600_000,
    "a-minute-ahead": 60_000,
    "an-hour-back": -3_600_000,
}
# A timer of 200 ms waits for polls and commits on top, not for a clock.
SECONDS_S = 15.0
LATER = Counter([(b"one", b"later"), (b"one", b"told later")])


def positions(settings: Settings) -> int:
    """How often a partition's position was written: once a transaction."""
    rows = records_in(settings, Topic.DEDUPE_STATE)
    return sum(row.key == POSITION_KEY for row in rows)


@pytest.mark.parametrize("skew_ms", SKEWS_MS.values(), ids=SKEWS_MS)
def test_timer_fires_in_its_time_and_once_whatever_the_host_takes_for_the_time(
    broker: str, prefix: str, tmp_path: Path, *, skew_ms: int
) -> None:
    """A host whose clock is wrong gives up no reply early and holds none up."""
    settings = corner(broker, prefix, partitions=2)
    create_topics(settings)
    with stage(settings, tmp_path) as process:
        process.start(ONEREPLY_WALL_SHIFT_MS=str(skew_ms))
        process.wait_for("stage live")
        put(settings, Topic.INBOUND_EVENTS, [(b"one", b"later"), (b"far", b"tomorrow")])
        await_records(settings, Topic.THREAD_EVENTS, 3, deadline_s=SECONDS_S)
        put(settings, Topic.INBOUND_EVENTS, [(b"two", b"later")])
        await_records(settings, Topic.THREAD_EVENTS, 5, deadline_s=SECONDS_S)
        assert process.terminate() == 0

    two = Counter([(b"two", b"later"), (b"two", b"told later"), (b"far", b"tomorrow")])
    assert told(settings) == LATER + two


def test_restart_under_a_wrong_clock_fires_what_is_due_and_nothing_else(
    broker: str, prefix: str, tmp_path: Path
) -> None:
    """Two days ahead, a restart would give up every reply that waits for a day."""
    settings = corner(broker, prefix, partitions=2)
    create_topics(settings)
    put(settings, Topic.INBOUND_EVENTS, [(b"one", b"later"), (b"far", b"tomorrow")])
    with stage(settings, tmp_path) as process:
        process.start()
        await_records(settings, Topic.THREAD_EVENTS, 3)
        assert process.terminate() == 0
        process.start(ONEREPLY_WALL_SHIFT_MS=str(SKEWS_MS["two-days-ahead"]))
        process.wait_for("stage live")
        put(settings, Topic.INBOUND_EVENTS, [(b"two", b"later")])
        await_records(settings, Topic.THREAD_EVENTS, 5, deadline_s=SECONDS_S)
        assert process.terminate() == 0

    two = Counter([(b"two", b"later"), (b"two", b"told later"), (b"far", b"tomorrow")])
    assert told(settings) == LATER + two


def test_timer_fires_once_after_a_restart_though_nothing_arrives(
    broker: str, prefix: str, tmp_path: Path
) -> None:
    """A stage must learn the time by itself, or a lease that ran out is never settled."""
    settings = corner(broker, prefix, partitions=2)
    create_topics(settings)
    put(settings, Topic.INBOUND_EVENTS, [(b"one", b"later")])
    with stage(settings, tmp_path) as process:
        process.start(ONEREPLY_HALT_AT=f"{Step.STARTED}:1")
        process.wait_halted()
        process.kill()
        process.start()
        await_records(settings, Topic.THREAD_EVENTS, 2)
        assert process.terminate() == 0
        process.start()
        process.wait_for("stage live")
        put(settings, Topic.INBOUND_EVENTS, [(b"two", b"plain")])
        await_records(settings, Topic.THREAD_EVENTS, 3)
        assert process.terminate() == 0

    assert told(settings) == LATER + Counter([(b"two", b"plain")])


def test_timer_of_a_dead_worker_fires_once_in_another(
    broker: str, prefix: str, tmp_path: Path
) -> None:
    """Timers move with their partition, to a worker that was idle and knew no time."""
    settings = corner(
        broker, prefix, partitions=1, session_timeout_ms=6_000, transaction_timeout_ms=3_000
    )
    create_topics(settings)
    put(settings, Topic.INBOUND_EVENTS, [(b"one", b"later")])
    first, second = stage(settings, tmp_path / "a"), stage(settings, tmp_path / "b")
    with first, second:
        first.start(ONEREPLY_HALT_AT=f"{Step.STARTED}:1")
        first.wait_halted()
        second.start(
            ONEREPLY_WORKER_NAME="worker-2",
            ONEREPLY_WALL_SHIFT_MS=str(SKEWS_MS["an-hour-back"]),
        )
        first.kill()
        await_records(settings, Topic.THREAD_EVENTS, 2)
        put(settings, Topic.INBOUND_EVENTS, [(b"two", b"plain")])
        await_records(settings, Topic.THREAD_EVENTS, 3)
        assert second.terminate() == 0

    assert told(settings) == LATER + Counter([(b"two", b"plain")])


def test_learning_the_time_costs_one_transaction_a_start(
    broker: str, prefix: str, tmp_path: Path
) -> None:
    """A stage that asked again and again would keep an idle broker busy."""
    settings = corner(broker, prefix, partitions=3)
    create_topics(settings)
    with stage(settings, tmp_path) as process:
        for start in (1, 2):
            process.start()
            process.wait_for("stage live")
            put(settings, Topic.INBOUND_EVENTS, [(f"k{start}".encode(), b"later")])
            await_records(settings, Topic.THREAD_EVENTS, 2 * start)
            assert process.terminate() == 0
            # Besides that of the record and that of its timer.
            assert positions(settings) == 3 * start
