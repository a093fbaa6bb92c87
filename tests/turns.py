"""A Turn over a dict, for tests of the core: the same overlay rules, no broker, no disk."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from processors.core.turn import Output, Record, Timer, Turn
from schemas.codec import Codec
from schemas.topics import Topic

NOW_MS = 1_767_607_200_000  # 2026-01-05T10:00:00Z


RecordT = TypeVar("RecordT")


class DictState:
    """Rows in a dict, in key order when scanned."""

    def __init__(self) -> None:
        self.rows: dict[bytes, bytes] = {}

    def get(self, key: bytes) -> bytes | None:
        """The row's bytes, or None."""
        return self.rows.get(key)

    def put(self, key: bytes, value: bytes | None) -> None:
        """Write a row; None deletes it."""
        if value is None:
            self.rows.pop(key, None)
        else:
            self.rows[key] = value

    def scan(self, start: bytes, stop: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Rows from start up to but not including stop, in key order."""
        return iter([(key, self.rows[key]) for key in sorted(self.rows) if start <= key < stop])


class SetTimers:
    """Timers in a set."""

    def __init__(self) -> None:
        self.waiting: set[Timer] = set()

    def set(self, timer: Timer) -> None:
        """Add the timer."""
        self.waiting.add(timer)

    def cancel(self, timer: Timer) -> None:
        """Remove the timer, if it is there."""
        self.waiting.discard(timer)

    def take_due(self, now_ms: int) -> list[Timer]:
        """Remove and return the timers that are due, earliest first."""
        due = sorted(timer for timer in self.waiting if timer.due_ms <= now_ms)
        self.waiting -= set(due)
        return due


class Desk:
    """One partition's state and timers over many turns, with a clock that the test moves."""

    def __init__(self) -> None:
        self.state = DictState()
        self.timers = SetTimers()
        self.now_ms = NOW_MS
        self.offset = -1

    def turn(self, record: Record | None = None) -> Turn:
        """A turn at the desk's time, with this record in hand."""
        turn = Turn(self.state, self.timers, now_ms=self.now_ms, stream_ms=self.now_ms)
        turn.record = record
        return turn

    def record(self, value: bytes | None, *, key: str = "k", mark: str | None = None) -> Record:
        """The next record of the partition, at the desk's time."""
        self.offset += 1
        return Record("topic", 0, self.offset, key.encode(), value, (), self.now_ms, mark)

    def wait(self, ms: int, ring: Callable[[], None]) -> None:
        """Let time pass; whenever timers come due, ring them at that time."""
        until_ms = self.now_ms + ms
        while self.move_to_due(until_ms):
            ring()
        self.now_ms = until_ms

    def move_to_due(self, until_ms: int) -> bool:
        """Move the clock to the next timer that is due by then; whether there is one."""
        due_ms = min((timer.due_ms for timer in self.timers.waiting), default=until_ms + 1)
        if due_ms > until_ms:
            return False
        # A rule that set a timer into the past would otherwise turn time back.
        self.now_ms = max(self.now_ms, due_ms)
        return True


def told(outputs: Iterable[Output], topic: Topic, kind: Codec[RecordT]) -> list[RecordT]:
    """The records among these outputs that went to this topic, in their order."""
    return [kind.decode(each.value) for each in outputs if each.topic == topic]
