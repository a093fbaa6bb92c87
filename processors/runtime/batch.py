"""Decides one batch: records, due timers and effect results in, one transaction's content out.

Owns: the order of things within a batch, and that what cannot be decided is set aside.
May not: produce, commit or write; nothing here outlives an abort.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from processors.core.turn import Effect, Output, Record, Result, Timer, Turn
from processors.runtime.attempts import attempt, carried, log_dead
from processors.runtime.clock import boot_s
from processors.runtime.dead_letters import dead_letter, dead_result, dead_timer
from processors.runtime.effects import Arrived
from processors.runtime.overlay import Overlay, TimerRows
from processors.runtime.partition import (
    NEVER_MS,
    Partition,
    moved,
    position_write,
    take_timers,
)
from processors.runtime.rows import PositionRow, timer_key
from processors.runtime.stage import Stage
from schemas.errors import Transient

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
    """What one batch decided, on how many records; `arrived` are the results that it used."""

    claimed_at_s: float
    changes: list[Change] = field(default_factory=list)
    outputs: list[Output] = field(default_factory=list)
    arrived: list[Arrived] = field(default_factory=list)
    records: int = 0
    dead: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What came for one partition."""

    partition: Partition
    records: Sequence[Record] = ()
    arrived: Sequence[Arrived] = ()


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
            decided.records += len(each.records)
            if change is not None:
                decided.changes.append(change)
        return decided

    def touched(self, partition: Partition) -> Decided:
        """Where the partition stands, and nothing else."""
        overlay, given = Overlay(partition.store), Given(partition=partition)
        turn = Turn(overlay, TimerRows(overlay, partition.note_due), now_ms=0, stream_ms=0)
        change = self._change(given, overlay, turn)
        return Decided(claimed_at_s=boot_s(), changes=[change])

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
                decided.dead += self._result(arrived.result, overlay, turn, number=partition.number)
        decided.dead += self._fire(partition, overlay, turn)
        overlay.prefetch(key for record in given.records for key in self._keys(record))
        for record in given.records:
            decided.dead += self._record(record, overlay, turn)
        if not (given.records or overlay.writes or turn.outputs):
            return None
        decided.outputs.extend(turn.outputs)
        return self._change(given, overlay, turn)

    def _result(self, result: Result, overlay: Overlay, turn: Turn, *, number: int) -> int:
        error = attempt(self._stage.on_result, result, overlay=overlay, turn=turn)
        if error is None:
            return 0
        # The lease timer of its claim is still there, and settles what the result could not.
        name = self._stage.name
        turn.outputs.append(dead_result(result, partition=number, stage=name, error=error))
        log_dead("result set aside", error, stage=name, partition=number, kind=result.kind)
        return 1

    def _fire(self, partition: Partition, overlay: Overlay, turn: Turn) -> int:
        if partition.next_due_ms > turn.now_ms:
            return 0
        limits_ms = self._stage.timer_limits_ms
        runaway, due = take_timers(partition, overlay, limits_ms, now_ms=turn.now_ms)
        if runaway:
            count = len(runaway)
            LOG.warning(
                "timers too far ahead", extra={"partition": partition.number, "count": count}
            )
        dead = 0
        for timer in [*runaway, *due]:
            key = timer_key(timer)
            # One that fired before it may have cancelled it.
            if overlay.get(key) is not None:
                overlay.put(key, None)
                dead += self._timer(timer, overlay, turn, number=partition.number)
        return dead

    def _timer(self, timer: Timer, overlay: Overlay, turn: Turn, *, number: int) -> int:
        error = attempt(self._stage.on_timer, timer, overlay=overlay, turn=turn)
        if error is None:
            return 0
        name = self._stage.name
        turn.outputs.append(dead_timer(timer, partition=number, stage=name, error=error))
        log_dead("timer set aside", error, stage=name, partition=number, kind=timer.kind)
        return 1

    def _keys(self, record: Record) -> Sequence[bytes]:
        try:
            return self._stage.keys(record)
        except (Transient, MemoryError):
            raise
        except Exception:  # noqa: BLE001  # whatever it is, the record is set aside when its turn comes
            return ()

    def _record(self, record: Record, overlay: Overlay, turn: Turn) -> int:
        turn.record, turn.carried = record, carried(record)
        turn.stream_ms = max(turn.stream_ms, record.timestamp_ms)
        error = attempt(self._stage.on_record, record, overlay=overlay, turn=turn)
        turn.record, turn.carried = None, ()
        if error is None:
            return 0
        name, number = self._stage.name, record.partition
        turn.outputs.append(dead_letter(record, stage=name, error=error))
        log_dead("record set aside", error, stage=name, partition=number, offset=record.offset)
        return 1

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


def rescan(changes: Iterable[Change]) -> None:
    """After an abort: timers that were taken are still there, so look again."""
    for change in changes:
        change.partition.next_due_ms = 0
        change.partition.runaway_from = b""


def is_waiting(partitions: Iterable[Partition]) -> int:
    """The earliest due time of all partitions, or NEVER_MS."""
    return min((partition.next_due_ms for partition in partitions), default=NEVER_MS)
