"""First-level dedupe: each event key once within the horizon, whatever number of copies arrives.

A row an event key: who was seen first, which copy is the latest, and whose message it was. A copy
of a known key is a duplicate and moves `latest` up, so that under compaction, which keeps the last
copy only, a replay still tells each event once: the copy called latest, read again, passes.

Owns: what is a duplicate, a conflict or an erasure at the door. Expired rows: see sweep.py.
May not: know a provider, judge an event, or drop anything without a record that says so.
"""

from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import Final

import msgspec

from processors.core.event_headers import DUPLICATE_TYPE, event_headers
from processors.core.fitting import fitted
from processors.core.intake import Intake, Sources, event_key_of, place_of
from processors.core.sweep import CursorRow, Sweep
from processors.core.tables import Row, Table
from processors.core.turn import Record, Turn
from schemas.codec import to_json
from schemas.commands import AuditEntry
from schemas.errors import Refused
from schemas.events import Duplicate, FetchRequest, Kind, ThreadEvent, Where
from schemas.headers import envelope
from schemas.keys import EventKey, MessageId, conflict_key, framed
from schemas.topics import TOPICS, Topic

STAGE: Final = "dedupe"
# An erased key is remembered for as long as the log may hold a copy of it.
ERASED_MS: Final = TOPICS[Topic.INBOUND_EVENTS].retention_ms or 0
# Conflicts are found by half a hash: two messages share one once in 2^64.
IDENTITY_BYTES: Final = 8

# Whose message an erased key was, where its deletion is all that was seen of it.
UNKNOWN: Final = b""
SAME_EVENT: Final = "same-event"
CONFLICT: Final = "conflict"

Read = Callable[[bytes, Intake], ThreadEvent]


class SeenRow(Row, frozen=True, kw_only=True, array_like=True):
    """What is remembered of one event key. `written_ms` is stream time; the row ages from there."""

    latest: int
    written_ms: int
    first_offset: int
    first_at_ms: int
    identity: bytes
    is_erased: bool = False


SEEN: Final = Table(0x10, SeenRow)
CURSOR: Final = Table(0x11, CursorRow)


def identity_of(event: ThreadEvent) -> bytes:
    """The message that an event is about, in eight bytes."""
    named = framed(event.inbox_id, event.message_id or "")
    return blake2b(named, digest_size=IDENTITY_BYTES).digest()


class Dedupe:
    """The decisions of the stage. `readers` turn a provider's body into an event."""

    def __init__(self, sources: Sources, readers: Mapping[str, Read], *, horizon_ms: int) -> None:
        self._sources = sources
        self._readers = readers
        self._horizon_ms = horizon_ms
        self._sweep = Sweep(SEEN, CURSOR, has_expired=self._has_expired)

    def keys(self, record: Record) -> Sequence[bytes]:
        """The rows that the record will need. Raises Refused like the decision itself."""
        return (SEEN.key(event_key_of(record)),)

    def on_record(self, record: Record, turn: Turn) -> None:
        """Pass the event on, or say why not. Raises Refused for what is no event of ours."""
        key = event_key_of(record)
        row = self._row(key, turn)
        if record.value is None:
            _erase(record, turn, key=key, row=row)
            return
        event = self._event(record, record.value, key=key)
        identity = identity_of(event)
        if row is not None and row.identity not in (identity, UNKNOWN):
            event, row = self._apart(event, record, turn, holder=row)
        if row is None:
            _remember(event, record, turn, identity=identity)
            self._sweep.after_write(record.key or b"", turn)
            _pass(event, turn)
        elif record.mark is not None and record.offset == row.latest and not row.is_erased:
            _pass(event, turn)
        else:
            _drop(event, record, turn, row=row)

    def _row(self, key: EventKey, turn: Turn) -> SeenRow | None:
        row = turn.get(SEEN, key)
        return None if row is None or self._has_expired(row, turn.stream_ms) else row

    def _has_expired(self, row: SeenRow, stream_ms: int) -> bool:
        horizon_ms = max(ERASED_MS, self._horizon_ms) if row.is_erased else self._horizon_ms
        return stream_ms - row.written_ms > horizon_ms

    def _event(self, record: Record, value: bytes, *, key: EventKey) -> ThreadEvent:
        intake = self._sources.intake_of(record, key)
        read = self._readers.get(intake.provider)
        if read is None:
            raise Refused(f"no reader for provider {intake.provider}")
        event = read(value, intake)
        self._sources.check(event, intake)
        return event

    def _apart(
        self, event: ThreadEvent, record: Record, turn: Turn, *, holder: SeenRow
    ) -> tuple[ThreadEvent, SeenRow | None]:
        """The event under a key of its own, because another message holds the one it came with."""
        own = conflict_key(event.event_key, event.inbox_id, event.message_id or MessageId(""))
        row = self._row(own, turn)
        if row is None:
            _report(event, record, turn, reason=CONFLICT, first=holder)
        return msgspec.structs.replace(event, event_key=own, is_conflict=True), row


def _remember(event: ThreadEvent, record: Record, turn: Turn, *, identity: bytes) -> None:
    row = SeenRow(
        latest=record.offset,
        written_ms=turn.stream_ms,
        first_offset=record.offset,
        first_at_ms=record.timestamp_ms,
        identity=identity,
    )
    turn.put(SEEN, row, event.event_key)


def _pass(event: ThreadEvent, turn: Turn) -> None:
    headers = event_headers(event, event.kind)
    turn.emit(Topic.THREAD_EVENTS, event.inbox_id, fitted(event), headers=headers)
    if event.kind == Kind.ANNOUNCED:
        request = to_json(FetchRequest(event=event))
        turn.emit(Topic.FETCH_REQUESTS, event.event_key, request, headers=headers)


def _drop(event: ThreadEvent, record: Record, turn: Turn, *, row: SeenRow) -> None:
    _report(event, record, turn, reason=SAME_EVENT, first=row)
    if record.offset <= row.latest:
        return
    turn.put(SEEN, msgspec.structs.replace(row, latest=record.offset), event.event_key)
    if row.is_erased:
        turn.emit(Topic.INBOUND_EVENTS, event.event_key, None)


def _report(event: ThreadEvent, record: Record, turn: Turn, *, reason: str, first: SeenRow) -> None:
    duplicate = Duplicate(
        event_key=event.event_key,
        reason=reason,
        origin=place_of(record),
        stage=STAGE,
        first=Where(topic=record.topic, partition=record.partition, offset=first.first_offset),
        first_at_ms=first.first_at_ms,
        inbox_id=event.inbox_id,
        message_id=event.message_id,
    )
    headers = event_headers(event, DUPLICATE_TYPE)
    turn.emit(Topic.DUPLICATE_EVENTS, event.event_key, to_json(duplicate), headers=headers)


def _erase(record: Record, turn: Turn, *, key: EventKey, row: SeenRow | None) -> None:
    """Remember that this event is gone. Only the first deletion is news."""
    if row is not None and row.is_erased:
        if record.offset > row.latest:
            turn.put(SEEN, msgspec.structs.replace(row, latest=record.offset), key)
        return
    erased = SeenRow(
        latest=record.offset if row is None else max(record.offset, row.latest),
        written_ms=turn.stream_ms,
        first_offset=record.offset if row is None else row.first_offset,
        first_at_ms=record.timestamp_ms if row is None else row.first_at_ms,
        identity=UNKNOWN if row is None else row.identity,
        is_erased=True,
    )
    turn.put(SEEN, erased, key)
    entry = AuditEntry(
        subject=key,
        what="event erased",
        at_ms=turn.now_ms,
        by=STAGE,
        before="unknown" if row is None else "seen",
        after="erased",
        why="its key was deleted from inbound-events",
    )
    turn.emit(Topic.AUDIT, key, to_json(entry), headers=envelope("audit.entry", key))
