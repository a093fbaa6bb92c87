"""One assigned partition: its store, how far it is, and what it waits for.

Owns: what is committed of one partition. A batch changes it only after Kafka has committed.
May not: talk to Kafka.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final

from processors.core.turn import Timer
from processors.runtime.overlay import Overlay
from processors.runtime.rows import (
    POSITION_KEY,
    TIMERS_END,
    PositionRow,
    packed,
    timer_of,
    timers_from,
)
from processors.runtime.store import Store

NEVER_MS: Final = 1 << 62
# Timers of one partition that one batch fires; the rest fire in the next.
MOST_TIMERS: Final = 2_000


@dataclass(slots=True)
class Partition:
    """A partition that is live: restored, its offsets known.

    `epoch` is new for each assignment: results of effects started under another are dropped.
    `next_due_ms` is never later than the earliest timer's due time. Timers from the key
    `runaway_from` on may lie further ahead than their kind allows; None once all were looked at.
    """

    number: int
    epoch: int
    store: Store
    position: PositionRow
    next_offset: int
    replay: str | None
    next_changelog: int
    next_due_ms: int = 0
    runaway_from: bytes | None = b""

    def note_due(self, due_ms: int) -> None:
        """A timer was set for that time."""
        self.next_due_ms = min(self.next_due_ms, due_ms)

    def mark_of(self, offset: int) -> str | None:
        """The replay that a record at this offset belongs to, or None when it is new."""
        return self.replay if offset <= self.position.offset else None


def take_timers(
    partition: Partition, overlay: Overlay, limits_ms: Mapping[str, int], *, now_ms: int
) -> tuple[list[Timer], list[Timer]]:
    """The timers to fire now: those too far ahead, then those due, earliest first.

    Not more than MOST_TIMERS together. Moves `next_due_ms` and `runaway_from` on, to what is left.
    """
    runaway = _take_runaway(partition, overlay, limits_ms, now_ms=now_ms)
    due = _take_due(partition, overlay, now_ms=now_ms, most=MOST_TIMERS - len(runaway))
    if partition.runaway_from is not None:
        partition.note_due(now_ms)
    return runaway, due


def _take_due(partition: Partition, overlay: Overlay, *, now_ms: int, most: int) -> list[Timer]:
    rows = overlay.scan(timers_from(0), TIMERS_END)
    due: list[Timer] = []
    partition.next_due_ms = NEVER_MS
    for key, _ in islice(rows, most + 1):
        timer = timer_of(key)
        if timer.due_ms > now_ms or len(due) == most:
            partition.next_due_ms = timer.due_ms
            break
        due.append(timer)
    return due


def _take_runaway(
    partition: Partition, overlay: Overlay, limits_ms: Mapping[str, int], *, now_ms: int
) -> list[Timer]:
    """Timers due later than their kind allows from now: a clock jumped; they are due now."""
    start, partition.runaway_from = partition.runaway_from, None
    if start is None or not limits_ms:
        return []
    runaway: list[Timer] = []
    start = max(start, timers_from(now_ms + min(limits_ms.values())))
    for key, _ in overlay.scan(start, TIMERS_END):
        timer = timer_of(key)
        if timer.due_ms <= now_ms + limits_ms.get(timer.kind, NEVER_MS):
            continue
        if len(runaway) == MOST_TIMERS:
            partition.runaway_from = key
            break
        runaway.append(timer)
    return runaway


def moved(position: PositionRow, *, offset: int, stream_ms: int, replay: str | None) -> PositionRow:
    """The position after a batch that ended at this offset. The highest offset never falls."""
    highest = max(position.offset, offset)
    return PositionRow(
        topic_id=position.topic_id,
        offset=highest,
        stream_ms=max(position.stream_ms, stream_ms),
        replay=replay,
    )


def position_write(position: PositionRow) -> tuple[bytes, bytes]:
    """The position's row."""
    return POSITION_KEY, packed(position)
