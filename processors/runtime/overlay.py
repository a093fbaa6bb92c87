"""What a batch has written so far, over what is committed.

Owns: reading through the batch's own writes, and undoing one decision's writes.
May not: write to the store; the loop does, once Kafka has committed.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, Protocol

from processors.core.turn import MAX_WRITTEN_BYTES, Timer
from processors.runtime.rows import timer_key
from schemas.errors import TooLarge

_TIMER_VALUE: Final = b"1"


class Committed(Protocol):
    """The rows that Kafka has committed."""

    def get(self, key: bytes) -> bytes | None:
        """The row's bytes, or None."""

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """The rows' bytes in the order of the keys."""

    def scan(self, start: bytes, stop: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Rows from start up to but not including stop, in key order."""


class Overlay:
    """One partition's state for the length of one batch. Implements `State` of core/turn.py."""

    __slots__ = ("_cache", "_committed", "_journal", "_sorted", "_unsorted", "writes")

    def __init__(self, committed: Committed) -> None:
        self._committed = committed
        self._cache: dict[bytes, bytes | None] = {}
        self._journal: list[tuple[bytes, bool, bytes | None]] = []
        self._sorted: list[bytes] | None = None
        self._unsorted: list[bytes] = []
        self.writes: dict[bytes, bytes | None] = {}

    def prefetch(self, keys: Iterable[bytes]) -> None:
        """Read the rows that the batch will need in one go."""
        wanted = list(dict.fromkeys(keys))
        if wanted:
            self._cache.update(zip(wanted, self._committed.get_many(wanted), strict=True))

    def get(self, key: bytes) -> bytes | None:
        """The row as this batch sees it."""
        if key in self.writes:
            return self.writes[key]
        if key not in self._cache:
            self._cache[key] = self._committed.get(key)
        return self._cache[key]

    def put(self, key: bytes, value: bytes | None) -> None:
        """Write a row; None deletes it. Raises TooLarge where its changelog would not take it."""
        if value is not None and len(key) + len(value) > MAX_WRITTEN_BYTES:
            raise TooLarge(f"row of {len(key) + len(value)} bytes")
        is_new = key not in self.writes
        self._journal.append((key, is_new, None if is_new else self.writes[key]))
        if is_new and self._sorted is not None:
            self._unsorted.append(key)
        self.writes[key] = value

    def scan(self, start: bytes, stop: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Rows in key order. Rows written while scanning may or may not be seen."""
        if self._sorted is None:
            self._sorted = sorted(self.writes)
        elif self._unsorted:
            # Nearly sorted already: Python's sort takes the runs as they are.
            self._sorted = sorted([*self._sorted, *self._unsorted])
        self._unsorted.clear()
        low, high = bisect_left(self._sorted, start), bisect_left(self._sorted, stop)
        ours = self._sorted[low:high]
        at = 0
        for key, value in self._committed.scan(start, stop):
            while at < len(ours) and ours[at] < key:
                yield from self._written(ours[at])
                at += 1
            if key not in self.writes:
                yield key, value
        for key in ours[at:]:
            yield from self._written(key)

    def _written(self, key: bytes) -> Iterator[tuple[bytes, bytes]]:
        value = self.writes.get(key)
        if value is not None:
            yield key, value

    def savepoint(self) -> None:
        """From here, `undo` takes writes back."""
        self._journal.clear()

    def undo(self) -> None:
        """Take back all writes since the last savepoint."""
        for key, was_new, before in reversed(self._journal):
            if was_new:
                del self.writes[key]
            else:
                self.writes[key] = before
        self._journal.clear()
        self._sorted = None


class TimerRows:
    """The partition's timers as rows of its overlay. Implements `Timers` of core/turn.py."""

    __slots__ = ("_on_set", "_overlay")

    def __init__(self, overlay: Overlay, on_set: Callable[[int], None]) -> None:
        self._overlay = overlay
        self._on_set = on_set

    def set(self, timer: Timer) -> None:
        """Wake the stage at that time. Setting the same timer again changes nothing."""
        self._overlay.put(timer_key(timer), _TIMER_VALUE)
        self._on_set(timer.due_ms)

    def cancel(self, timer: Timer) -> None:
        """Forget the timer, if it is there."""
        self._overlay.put(timer_key(timer), None)
