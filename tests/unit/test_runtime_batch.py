"""What one batch decides, over a real store."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from processors.core.turn import Record, Timer, Turn
from processors.runtime.batch import Decided, Decider, Given
from processors.runtime.partition import Partition
from processors.runtime.rows import FORMAT, PositionRow, StoreMeta, timer_key
from processors.runtime.stage import Stage
from processors.runtime.store import Store, StoreCache
from schemas.topics import Topic

NOW_MS = 1_767_607_200_000
FIRST = Timer(NOW_MS - 2, "wake", "first")
SECOND = Timer(NOW_MS - 1, "wake", "second")
META = StoreMeta(format=FORMAT, cluster_id="c", changelog_id="l", next_changelog=0, live_at_ms=1)


@pytest.fixture
def partition(tmp_path: Path) -> Iterator[Partition]:
    """A live partition in which two timers are due."""
    store = Store(tmp_path, StoreCache(1 << 20))
    store.write([(timer_key(FIRST), b"1"), (timer_key(SECOND), b"1")], META)
    yield Partition(
        number=0,
        epoch=1,
        store=store,
        position=PositionRow(topic_id="t"),
        next_offset=0,
        replay=None,
        next_changelog=0,
    )
    store.close()


def tell(timer: Timer, turn: Turn) -> None:
    """Tell the timer's id."""
    turn.emit(Topic.THREAD_EVENTS, timer.id, b"woke")


def tell_alone(timer: Timer, turn: Turn) -> None:
    """Tell the timer's id, and cancel the other."""
    tell(timer, turn)
    turn.cancel_timer(SECOND if timer == FIRST else FIRST)


def tell_key(record: Record, turn: Turn) -> None:
    """Tell the record's key; a key that is not text is nothing to tell."""
    turn.emit(Topic.THREAD_EVENTS, (record.key or b"").decode(), b"seen")


def keys_of(record: Record) -> list[bytes]:
    """The rows to read; raises UnicodeDecodeError, as a stage's own bug might."""
    return [(record.key or b"").decode().encode()]


def decided(stage: Stage, partition: Partition, records: tuple[Record, ...] = ()) -> Decided:
    """What the stage decides on the partition now."""
    given = Given(partition=partition, records=records, arrived=())
    return Decider(stage).decide([given], now_ms=NOW_MS)


def stage(**decisions: object) -> Stage:
    """A stage with these decisions."""
    return Stage(
        name="dedupe",
        input=Topic.INBOUND_EVENTS,
        changelog=Topic.DEDUPE_STATE,
        on_record=tell_key,
        **decisions,  # type: ignore[arg-type]  # each test names its own
    )


def test_due_timers_fire_in_the_order_they_are_due(partition: Partition) -> None:
    """What was to be first is first."""
    outputs = decided(stage(on_timer=tell), partition).outputs

    assert [output.key for output in outputs] == ["first", "second"]


def test_timer_that_is_due_by_two_rules_fires_once(partition: Partition) -> None:
    """A clock that moves on between start and first batch makes a runaway timer due as well."""
    partition.runaway = [SECOND]

    outputs = decided(stage(on_timer=tell), partition).outputs

    assert sorted(str(output.key) for output in outputs) == ["first", "second"]


def test_timer_that_another_cancelled_in_the_same_batch_does_not_fire(
    partition: Partition,
) -> None:
    """Cancelled is cancelled, also where both were due."""
    outputs = decided(stage(on_timer=tell_alone), partition).outputs

    assert [output.key for output in outputs] == ["first"]


def test_record_whose_rows_cannot_be_named_is_set_aside(partition: Partition) -> None:
    """The reading ahead of a batch must not be the place where one bad record stops a stage."""
    record = Record(Topic.INBOUND_EVENTS, 0, 0, b"\xff", b"{}", (), NOW_MS)

    result = decided(stage(keys=keys_of, on_timer=tell), partition, (record,))

    assert [output.topic for output in result.outputs][-1] == Topic.DEAD_LETTERS
    assert result.dead == 1
