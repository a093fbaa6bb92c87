"""What one batch decides, over a real store."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from processors.core.turn import Output, Record, Timer, Turn
from processors.runtime.batch import Decided, Decider, Given, rescan
from processors.runtime.partition import MOST_TIMERS, Partition
from processors.runtime.rows import timer_key
from processors.runtime.stage import Stage
from processors.runtime.store import Store, StoreCache
from schemas.topics import Topic
from tests.partitions import META, a_partition

NOW_MS = 1_767_607_200_000
SECOND_MS = 1_000
DAY_MS = 86_400_000
FIRST = Timer(NOW_MS - 2, "wake", "first")
SECOND = Timer(NOW_MS - 1, "wake", "second")


@pytest.fixture
def partition(tmp_path: Path) -> Iterator[Partition]:
    """A live partition in which two timers are due."""
    store = Store(tmp_path, StoreCache(1 << 20))
    store.write([(timer_key(FIRST), b"1"), (timer_key(SECOND), b"1")], META)
    yield a_partition(store)
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


def add(partition: Partition, *timers: Timer) -> None:
    """Timers that an earlier batch set."""
    partition.store.write([(timer_key(timer), b"1") for timer in timers], META)


def committed(stage: Stage, partition: Partition) -> list[Output]:
    """What one batch tells; its rows are written."""
    result = decided(stage, partition)
    for change in result.changes:
        partition.store.write(change.writes.items(), META)
    return result.outputs


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


def test_timer_too_far_ahead_for_its_kind_is_due_now(partition: Partition) -> None:
    """A clock that leapt while it was set must not hold it up for days."""
    two_days_ahead = Timer(NOW_MS + 2 * DAY_MS, "wake", "third")
    at_its_limit = Timer(NOW_MS + SECOND_MS, "wake", "fourth")
    add(partition, at_its_limit, two_days_ahead)

    result = decided(stage(on_timer=tell, timer_limits_ms={"wake": SECOND_MS}), partition)

    assert [output.key for output in result.outputs] == ["third", "first", "second"]
    assert partition.next_due_ms == at_its_limit.due_ms


def test_timers_too_far_ahead_fire_in_batches_of_bounded_size(partition: Partition) -> None:
    """A transaction of all timers of a partition would be larger than the broker takes."""
    ours = stage(on_timer=tell, timer_limits_ms={"wake": SECOND_MS, "rest": 3 * DAY_MS})
    ahead = [Timer(NOW_MS + 2 * DAY_MS + n, "wake", f"t{n}") for n in range(MOST_TIMERS + 5)]
    add(partition, Timer(NOW_MS + DAY_MS, "rest", "asleep"), *ahead)

    first = committed(ours, partition)
    second = committed(ours, partition)

    assert [output.key for output in first] == [timer.id for timer in ahead[:MOST_TIMERS]]
    assert [str(output.key) for output in second] == [
        *(timer.id for timer in ahead[MOST_TIMERS:]),
        "first",
        "second",
    ]
    assert partition.next_due_ms == NOW_MS + DAY_MS


def test_timers_too_far_ahead_are_looked_at_again_after_an_abort(partition: Partition) -> None:
    """What was rolled back has not fired."""
    ours = stage(on_timer=tell, timer_limits_ms={"wake": SECOND_MS})
    add(partition, Timer(NOW_MS + 2 * DAY_MS, "wake", "third"))

    once = decided(ours, partition)
    rescan(once.changes)
    again = decided(ours, partition)

    assert again.outputs == once.outputs


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
