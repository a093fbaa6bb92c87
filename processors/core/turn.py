"""One decision's workplace: what it may read, and what it wants done.

A stage's decision is a function of (what came, Turn). What came is a record, a due timer or the
result of an effect; the Turn holds the state that it may read and collects what it wants: rows,
outputs, timers, effects. Nothing happens until the runtime carries the whole batch out, in one
transaction, so a decision that raises leaves nothing behind.

Owns: the vocabulary between the decisions and the runtime.
May not: do I/O, read a clock, or know what a mail is.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from processors.core.tables import Part, Table, prefix_end
from schemas.errors import TooLarge
from schemas.headers import REPLAY, Headers
from schemas.topics import MAX_RECORD_BYTES, Topic

RowT = TypeVar("RowT")

# Room for the key, our headers and Kafka's own framing beside a value.
MAX_VALUE_BYTES: Final = MAX_RECORD_BYTES - 64 * 1024
# Kafka's own framing of a batch with one record (under 100 bytes), and two lengths a header.
FRAMING_BYTES: Final = 1024
HEADER_BYTES: Final = 10
# Most bytes of a record as it is written, key and headers included, and of a row with its key.
MAX_WRITTEN_BYTES: Final = MAX_RECORD_BYTES - FRAMING_BYTES


class Record(NamedTuple):
    """A record as a decision sees it. `mark` names the replay that it is part of, or is None."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]]
    timestamp_ms: int  # broker's LogAppendTime
    mark: str | None = None


class Output(NamedTuple):
    """A record to write. `mark` travels downstream with whatever a replay causes."""

    topic: Topic
    key: str | bytes
    value: bytes | None
    headers: Headers = ()
    mark: str | None = None


def size_of(output: Output) -> int:
    """How many bytes it has in all, the framing of its headers included."""
    _, key, value, headers, mark = output
    size = len(key if isinstance(key, bytes) else key.encode()) + len(headers) * HEADER_BYTES
    if value is not None:
        size += len(value)
    for name, each in headers:
        size += len(name)
        if each is not None:
            size += len(each)
    return size if mark is None else size + len(REPLAY) + len(mark.encode())


class Timer(NamedTuple):
    """Something to look at again at `due_ms` (broker time), unless it was cancelled."""

    due_ms: int
    kind: str
    id: str


class Effect(NamedTuple):
    """A call to the outside, started only after the claim that this turn wrote is committed.

    `attempt` is the claim's own id: a result counts only if the row still names it.
    """

    kind: str
    id: str
    attempt: str
    request: Any
    lease_ms: int


class Result(NamedTuple):
    """What came of an effect. `outcome` is what the stage's `perform` returned."""

    kind: str
    id: str
    attempt: str
    outcome: Any


class State(Protocol):
    """Committed rows under everything that this batch has written so far."""

    def get(self, key: bytes) -> bytes | None:
        """The row's bytes, or None."""

    def put(self, key: bytes, value: bytes | None) -> None:
        """Write a row; None deletes it."""

    def scan(self, start: bytes, stop: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Rows from start up to but not including stop, in key order."""


class Timers(Protocol):
    """The partition's timers, ordered by due time."""

    def set(self, timer: Timer) -> None:
        """Wake the stage at that time. Setting the same timer again changes nothing."""

    def cancel(self, timer: Timer) -> None:
        """Forget the timer, if it is there."""


class Turn:
    """What decisions on one partition may read and write, for the length of one batch.

    `now_ms` is broker time (the last LogAppendTime seen plus the boot clock since);
    `stream_ms` the highest LogAppendTime of the partition, by which rows age;
    `record` the record in hand, or None for timers and results; `carried` the headers that go
    along with whatever it causes.
    """

    __slots__ = (
        "carried",
        "effects",
        "now_ms",
        "outputs",
        "record",
        "state",
        "stream_ms",
        "timers",
    )

    def __init__(self, state: State, timers: Timers, *, now_ms: int, stream_ms: int) -> None:
        self.state = state
        self.timers = timers
        self.now_ms = now_ms
        self.stream_ms = stream_ms
        self.record: Record | None = None
        self.carried: Headers = ()
        self.outputs: list[Output] = []
        self.effects: list[Effect] = []

    @property
    def mark(self) -> str | None:
        """The replay mark of the record in hand."""
        return None if self.record is None else self.record.mark

    def get(self, table: Table[RowT], *parts: Part) -> RowT | None:
        """The row under these parts, or None."""
        value = self.state.get(table.key(*parts))
        return None if value is None else table.decode(value)

    def put(self, table: Table[RowT], row: RowT, *parts: Part) -> None:
        """Write the row under these parts."""
        self.state.put(table.key(*parts), table.encode(row))

    def delete(self, table: Table[Any], *parts: Part) -> None:
        """Remove the row under these parts, if it is there."""
        self.state.put(table.key(*parts), None)

    def rows(self, table: Table[RowT], *parts: Part) -> Iterator[tuple[bytes, RowT]]:
        """The rows whose keys begin with these parts, in key order, each with its key's rest."""
        prefix = table.key(*parts)
        for key, value in self.state.scan(prefix, prefix_end(prefix)):
            yield key[len(prefix) :], table.decode(value)

    def emit(self, topic: Topic, key: str, value: bytes | None, *, headers: Headers = ()) -> None:
        """Write a record, under the mark of the record in hand. Raises TooLarge."""
        self._add(Output(topic, key, value, headers + self.carried, self.mark))

    def emit_marked(self, output: Output) -> None:
        """Write a record under the mark that it names. Raises TooLarge."""
        topic, key, value, headers, mark = output
        self._add(Output(topic, key, value, headers + self.carried, mark))

    def _add(self, output: Output) -> None:
        if (size := size_of(output)) > MAX_WRITTEN_BYTES:
            raise TooLarge(f"{output.topic} record of {size} bytes, headers included")
        if output.value is not None and len(output.value) > MAX_VALUE_BYTES:
            raise TooLarge(f"{output.topic} record of {len(output.value)} bytes")
        self.outputs.append(output)

    def set_timer(self, timer: Timer) -> None:
        """Wake the stage at that time."""
        self.timers.set(timer)

    def cancel_timer(self, timer: Timer) -> None:
        """Forget the timer, if it is there."""
        self.timers.cancel(timer)

    def start(self, effect: Effect) -> None:
        """Start the effect once this batch is committed."""
        self.effects.append(effect)
