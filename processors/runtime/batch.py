"""Decides one batch: records, due timers and effect results in, one transaction's content out.

Owns: the order of things within a batch, dead letters, and what travels with every output.
May not: produce, commit or write; nothing here outlives an abort.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from processors.core.turn import Effect, Output, Record, Turn
from processors.runtime.clock import boot_s
from processors.runtime.dead_letters import dead_letter
from processors.runtime.effects import Arrived
from processors.runtime.overlay import Overlay, TimerRows
from processors.runtime.partition import (
    NEVER_MS,
    Partition,
    due_timers,
    moved,
    position_write,
)
from processors.runtime.rows import PositionRow, timer_key
from processors.runtime.stage import Stage
from processors.runtime.transactions import ChangelogRow
from schemas.errors import Permanent, Transient
from schemas.headers import ORIGIN, TRACE

LOG = logging.getLogger("processors.batch")


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What a batch does to one partition, once it is committed."""

    partition: Partition
    writes: Mapping[bytes, bytes | None]
    position: PositionRow
    next_offset: int
    replay: str | None
    effects: Sequence[Effect]


@dataclass(slots=True, kw_only=True)
class Decided:
    """What one batch decided. `arrived` are the results that it used."""

    claimed_at_s: float
    changes: list[Change] = field(default_factory=list)
    outputs: list[Output] = field(default_factory=list)
    arrived: list[Arrived] = field(default_factory=list)
    dead: int = 0

    def changelog(self) -> list[ChangelogRow]:
        """Every row changed, each partition's position last."""
        return [
            ChangelogRow(change.partition.number, key, value)
            for change in self.changes
            for key, value in change.writes.items()
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What came for one partition."""

    partition: Partition
    records: Sequence[Record]
    arrived: Sequence[Arrived]


class Decider:
    """Applies one stage's decisions to batches."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    def decide(self, given: Iterable[Given], *, now_ms: int) -> Decided:
        """Decide all of it, purely. Raises what is not a record's own fault."""
        decided = Decided(claimed_at_s=boot_s())
        for each in given:
            change = self._partition(each, decided, now_ms=now_ms)
            decided.arrived.extend(each.arrived)
            if change is not None:
                decided.changes.append(change)
        return decided

    def _partition(self, given: Given, decided: Decided, *, now_ms: int) -> Change | None:
        partition = given.partition
        overlay = Overlay(partition.store)
        turn = Turn(
            overlay,
            TimerRows(overlay, partition.note_due),
            now_ms=now_ms,
            stream_ms=partition.position.stream_ms,
        )
        for arrived in given.arrived:
            if arrived.epoch == partition.epoch:
                self._stage.on_result(arrived.result, turn)
        self._fire(partition, overlay, turn)
        overlay.prefetch(key for record in given.records for key in self._keys(record))
        for record in given.records:
            decided.dead += self._record(record, overlay, turn)
        if not (given.records or overlay.writes or turn.outputs):
            return None
        decided.outputs.extend(turn.outputs)
        return self._change(given, overlay, turn)

    def _fire(self, partition: Partition, overlay: Overlay, turn: Turn) -> None:
        if partition.next_due_ms > turn.now_ms:
            return
        for timer in [*partition.runaway, *due_timers(partition, overlay, now_ms=turn.now_ms)]:
            key = timer_key(timer)
            # One that fired before it may have cancelled it; a clock that moved may name it twice.
            if overlay.get(key) is not None:
                overlay.put(key, None)
                self._stage.on_timer(timer, turn)

    def _keys(self, record: Record) -> Sequence[bytes]:
        try:
            return self._stage.keys(record)
        except (Transient, MemoryError):
            raise
        except Exception:  # noqa: BLE001  # whatever it is, the record is set aside when its turn comes
            return ()

    def _record(self, record: Record, overlay: Overlay, turn: Turn) -> int:
        turn.record = record
        turn.stream_ms = max(turn.stream_ms, record.timestamp_ms)
        overlay.savepoint()
        outputs, effects = len(turn.outputs), len(turn.effects)
        try:
            self._stage.on_record(record, turn)
        except (Transient, MemoryError):
            raise
        except Exception as error:  # noqa: BLE001  # the one place: whatever it is, it is this record's
            overlay.undo()
            del turn.outputs[outputs:], turn.effects[effects:]
            turn.outputs.append(dead_letter(record, stage=self._stage.name, error=error))
            log_dead(self._stage.name, record, error)
            return 1
        finally:
            turn.record = None
        if len(turn.outputs) > outputs:
            carried = _carried(record)
            turn.outputs[outputs:] = [
                each._replace(headers=(*each.headers, *carried)) for each in turn.outputs[outputs:]
            ]
        return 0

    def _change(self, given: Given, overlay: Overlay, turn: Turn) -> Change:
        partition, last = given.partition, given.records[-1] if given.records else None
        next_offset = partition.next_offset if last is None else last.offset + 1
        is_read_again = next_offset <= partition.position.offset
        replay = partition.replay if is_read_again else None
        position = moved(
            partition.position, offset=next_offset - 1, stream_ms=turn.stream_ms, replay=replay
        )
        writes = dict(overlay.writes)
        key, value = position_write(position)
        writes[key] = value
        return Change(
            partition=partition,
            writes=writes,
            position=position,
            next_offset=next_offset,
            replay=replay,
            effects=tuple(turn.effects),
        )


def log_dead(stage: str, record: Record, error: Exception) -> None:
    """Say that a record was set aside: where it stands and what kind of fault, never its bytes."""
    is_expected = isinstance(error, Permanent)
    LOG.warning(
        "record set aside",
        exc_info=None if is_expected else error,
        extra={
            "stage": stage,
            "partition": record.partition,
            "offset": record.offset,
            "error": type(error).__name__,
        },
    )


_CARRIED: Final = frozenset({TRACE})


def _carried(record: Record) -> tuple[tuple[str, bytes | None], ...]:
    """What goes along with every output of a record: where it came from, and its trace."""
    origin = f"{record.topic}/{record.partition}/{record.offset}".encode()
    trace = tuple((name, value) for name, value in record.headers if name in _CARRIED)
    return ((ORIGIN, origin), *trace)


def rescan(changes: Iterable[Change]) -> None:
    """After an abort: timers that were taken are still there, so look again."""
    for change in changes:
        change.partition.next_due_ms = min(change.partition.next_due_ms, 0)


def is_waiting(partitions: Iterable[Partition]) -> int:
    """The earliest due time of all partitions, or NEVER_MS."""
    return min((partition.next_due_ms for partition in partitions), default=NEVER_MS)
