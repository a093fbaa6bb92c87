"""What a batch sets aside, over a real store: what cannot be decided, of whatever kind."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from processors.core.turn import MAX_WRITTEN_BYTES, Output, Record, Result, Timer, Turn, size_of
from processors.runtime.batch import Decided, Decider, Given
from processors.runtime.dead_letters import MOST_BYTES, dead_letter
from processors.runtime.effects import Arrived
from processors.runtime.partition import Partition
from processors.runtime.rows import timer_key
from processors.runtime.stage import Stage
from processors.runtime.store import Store, StoreCache
from schemas.errors import Refused, TooLarge, Transient
from schemas.headers import DEAD_CUT, DEAD_ERROR, DEAD_OFFSET, DEAD_REASON, REPLAY, TRACE, header
from schemas.topics import MAX_RECORD_BYTES, Topic
from tests.partitions import META, a_partition

NOW_MS = 1_767_607_200_000
POISONED = Timer(NOW_MS - 2, "wake", "poisoned")
SOUND = Timer(NOW_MS - 1, "wake", "sound")
ROW = b"\x10row"
LARGE = b"x" * MAX_RECORD_BYTES


@pytest.fixture
def partition(tmp_path: Path) -> Iterator[Partition]:
    """A live partition in which two timers are due."""
    store = Store(tmp_path, StoreCache(1 << 20))
    store.write([(timer_key(POISONED), b"1"), (timer_key(SOUND), b"1")], META)
    yield a_partition(store, number=3)
    store.close()


def a_record(value: bytes = b"{}", **fields: object) -> Record:
    """A record of the partition."""
    record = Record(Topic.INBOUND_EVENTS, 3, 0, b"k", value, (), NOW_MS)
    return record._replace(**fields)  # type: ignore[arg-type]  # each test names its own


def a_result(name: str) -> Arrived:
    """What came of a call."""
    return Arrived(partition=3, epoch=1, result=Result("call", name, "a1", object()))


def told(name: str, turn: Turn) -> None:
    """Write a row and tell of it; then fail, where the name says so."""
    turn.state.put(ROW, name.encode())
    turn.emit(Topic.THREAD_EVENTS, name, b"told")
    if name == "poisoned":
        raise Refused("it says that it is poisoned")


def decided(
    partition: Partition,
    *records: Record,
    on_record: Callable[[Record, Turn], None] = lambda _record, _turn: None,
    arrived: tuple[Arrived, ...] = (),
) -> Decided:
    """What a stage decides on the partition now."""
    stage = Stage(
        name="dedupe",
        input=Topic.INBOUND_EVENTS,
        changelog=Topic.DEDUPE_STATE,
        on_record=on_record,
        on_timer=lambda timer, turn: told(timer.id, turn),
        on_result=lambda result, turn: told(result.id, turn),
    )
    given = Given(partition=partition, records=records, arrived=arrived)
    return Decider(stage).decide([given], now_ms=NOW_MS)


def dead_of(result: Decided) -> list[Output]:
    """The dead letters among what was decided."""
    return [each for each in result.outputs if each.topic == Topic.DEAD_LETTERS]


def test_timer_that_cannot_be_decided_is_set_aside_and_the_others_fire(
    partition: Partition,
) -> None:
    """One row in a million must not stop its stage at every start."""
    result = decided(partition)

    (dead,) = dead_of(result)
    assert (dead.key, json.loads(dead.value or b"")) == (
        "wake/poisoned",
        {"due_ms": POISONED.due_ms, "kind": "wake", "id": "poisoned"},
    )
    assert header(dead.headers, DEAD_REASON) == "it says that it is poisoned"
    assert [each.key for each in result.outputs] == ["wake/poisoned", "sound"]


def test_timer_that_was_set_aside_leaves_only_its_absence(partition: Partition) -> None:
    """It must not fire again, and half of a decision is worse than none."""
    (change,) = decided(partition).changes

    assert change.writes[timer_key(POISONED)] is None
    assert change.writes[ROW] == b"sound"


def test_result_that_cannot_be_decided_is_set_aside_and_the_others_count(
    partition: Partition,
) -> None:
    """It would come again after each rollback, and stop the stage each time."""
    result = decided(partition, arrived=(a_result("poisoned"), a_result("fine")))

    dead = dead_of(result)[0]
    assert (dead.key, json.loads(dead.value or b"")) == (
        "call/poisoned",
        {"kind": "call", "id": "poisoned", "attempt": "a1"},
    )
    assert [each.key for each in result.outputs[:2]] == ["call/poisoned", "fine"]
    assert result.dead == 2


def test_what_is_not_a_timers_own_fault_stops_the_stage(partition: Partition) -> None:
    """A store that is away must not empty itself into the dead letters."""

    def away(_record: Record, _turn: Turn) -> None:
        raise Transient("store is away")

    with pytest.raises(Transient, match="store is away"):
        decided(partition, a_record(), on_record=away)


def too_large_value(record: Record, turn: Turn) -> None:
    """A value that no topic takes."""
    turn.emit(Topic.THREAD_EVENTS, "k", (record.value or b"") + LARGE)


def too_large_headers(_record: Record, turn: Turn) -> None:
    """A small value under headers that no topic takes."""
    turn.emit(Topic.THREAD_EVENTS, "k", b"{}", headers=(("subject", LARGE),))


def too_large_key(_record: Record, turn: Turn) -> None:
    """A small value under a key that no topic takes."""
    turn.emit(Topic.THREAD_EVENTS, LARGE.decode(), b"{}")


def too_large_row(_record: Record, turn: Turn) -> None:
    """A row that the changelog does not take, after one that it does."""
    turn.state.put(b"\x10small", b"1")
    turn.state.put(b"\x10large", LARGE)


def passed_on(record: Record, turn: Turn) -> None:
    """The record as it is; what it was traced with goes along."""
    turn.emit(Topic.THREAD_EVENTS, "k", record.value)


@pytest.mark.parametrize(
    ("on_record", "headers"),
    [
        pytest.param(too_large_value, (), id="value"),
        pytest.param(too_large_headers, (), id="headers"),
        pytest.param(too_large_key, (), id="key"),
        pytest.param(too_large_row, (), id="row"),
        pytest.param(passed_on, ((TRACE, LARGE[:-1000]),), id="trace"),
    ],
)
def test_record_that_causes_too_much_is_set_aside(
    partition: Partition,
    on_record: Callable[[Record, Turn], None],
    headers: tuple[tuple[str, bytes], ...],
) -> None:
    """Kafka would refuse the whole batch, at every start."""
    record = a_record(headers=headers)

    result = decided(partition, record, on_record=on_record)

    dead = dead_of(result)[-1]
    assert (dead.key, dead.value, header(dead.headers, DEAD_ERROR)) == (
        b"k",
        b"{}",
        TooLarge.__name__,
    )
    (change,) = result.changes
    assert {b"\x10small", b"\x10large"} & change.writes.keys() == set()


def test_record_as_large_as_it_may_be_is_passed_on(partition: Partition) -> None:
    """The limit is Kafka's, not a stricter one."""

    def fits(record: Record, turn: Turn) -> None:
        output = Output(Topic.THREAD_EVENTS, "k", record.value, (("h", b""),))
        # Where it came from goes along: a name, a value, and what Kafka writes around both.
        origin = len("onereply-origin") + len("inbound-events/3/0") + 10
        room = MAX_WRITTEN_BYTES - origin - size_of(output)
        turn.emit_marked(output._replace(headers=(("h", b"x" * room),)))

    result = decided(partition, a_record(), on_record=fits)

    assert size_of(result.outputs[-1]) == MAX_WRITTEN_BYTES
    assert result.outputs[-1].topic == Topic.THREAD_EVENTS


def test_largest_record_is_set_aside_whole() -> None:
    """The dead letter has more to carry than its record, and the same bytes."""
    record = a_record(LARGE, mark="m" * 100)

    dead = dead_letter(record, stage="dedupe", error=Refused("x" * 10_000))

    assert (dead.value, header(dead.headers, DEAD_CUT)) == (LARGE, None)
    assert size_of(dead) <= MOST_BYTES


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"value": LARGE * 2}, id="value"),
        pytest.param({"headers": (("h", LARGE * 2),)}, id="headers"),
        pytest.param({"key": LARGE * 2}, id="key"),
        pytest.param({"mark": LARGE.decode() * 2, "headers": ((REPLAY, LARGE),)}, id="mark"),
    ],
)
def test_record_beyond_every_limit_is_set_aside_cut(fields: dict[str, object]) -> None:
    """A stranger's producer compresses more into a record than we can write again."""
    record = a_record()._replace(**fields)  # type: ignore[arg-type]  # each case names its own

    dead = dead_letter(record, stage="dedupe", error=Refused("odd"))

    assert size_of(dead) <= MOST_BYTES
    assert header(dead.headers, DEAD_OFFSET) == "0"
    assert header(dead.headers, DEAD_CUT) == str(len(record.value or b""))
    assert (record.value or b"").startswith(dead.value or b"?")
