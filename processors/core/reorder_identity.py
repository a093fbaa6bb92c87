"""The same mail once: who came first, and what becomes of every other copy.

Owns: the verdict on a copy, the winner's row, and what `duplicate-events` says.
May not: move a winner. A fact has no message identity and never comes here.
"""

from enum import Enum, auto
from typing import Final

import msgspec

from processors.core.event_headers import DUPLICATE_TYPE, event_headers
from processors.core.reorder_order import late_by_ms
from processors.core.reorder_release import emit_ordered, ordered_of
from processors.core.reorder_rows import (
    COPIES,
    IDENTITIES,
    Copy,
    Identity,
    Place,
    Released,
    State,
    Thread,
    thread_row,
)
from processors.core.turn import Record, Turn
from schemas.codec import to_json
from schemas.events import Duplicate, Kind, ThreadEvent, Where
from schemas.keys import EventKey, MessageId
from schemas.topics import Topic

STAGE: Final = "reorder"


class Mail(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A mail, or its announcement, with what it is known by."""

    event: ThreadEvent
    record: Record
    content: bytes
    message_id: MessageId
    thread: Thread
    place: Place
    parent: MessageId | None


class Verdict(Enum):
    """What becomes of a copy."""

    NEW = auto()
    AGAIN = auto()  # the winner, told again by a replay
    DUPLICATE = auto()
    DROPPED = auto()  # a replay's copy of what is still to be told


def judge(row: Identity | None, event: ThreadEvent, record: Record) -> Verdict:
    """What becomes of this copy, given what is known of its message.

    The winner's event stands on the input twice when DEDUPE told it again. The latest of its
    records is the one to be told again here, so that one replay tells each mail once.
    """
    is_announced = event.kind == Kind.ANNOUNCED
    if row is None or row.state in (State.WAITED, State.KNOWN):
        return Verdict.NEW
    if row.state in (State.ANNOUNCED, State.UNAVAILABLE) and not is_announced:
        return Verdict.NEW
    if record.mark is None:
        return Verdict.DUPLICATE
    if row.state in (State.HELD, State.ANNOUNCED, State.ERASED):
        return Verdict.DROPPED
    is_latest = row.event_key == event.event_key and record.offset >= row.latest_offset
    return Verdict.AGAIN if is_latest else Verdict.DUPLICATE


def known_row(turn: Turn, mail: Mail, horizon_ms: int) -> Identity | None:
    """What is known of the mail's identity within the horizon."""
    row = turn.get(IDENTITIES, mail.event.inbox_id, mail.message_id)
    if row is None or row.number is not None or row.stream_ms + horizon_ms > turn.stream_ms:
        return row
    return None


def winner_of(turn: Turn, mail: Mail, before: Identity | None) -> Identity:
    """The row of a mail that came first. Who waited for it still does."""
    event, origin = mail.event, _origin(mail)
    return Identity(
        stream_ms=turn.stream_ms,
        state=State.ANNOUNCED if event.kind == Kind.ANNOUNCED else State.HELD,
        waiting=() if before is None else before.waiting,
        event_key=event.event_key,
        thread_key=mail.thread.key,
        occurred_at_ns=mail.place[0],
        sequence=mail.place[1],
        content_hash=event.content_hash,
        first_topic=origin.topic,
        first_partition=origin.partition,
        first_offset=origin.offset,
        first_at_ms=event.received_at_ms,
        latest_offset=mail.record.offset,
    )


def note_latest(turn: Turn, mail: Mail, row: Identity) -> None:
    """Remember where the winner's event stands for the last time."""
    offset = mail.record.offset
    if row.event_key == mail.event.event_key and offset > row.latest_offset:
        latest = msgspec.structs.replace(row, latest_offset=offset)
        turn.put(IDENTITIES, latest, mail.event.inbox_id, mail.message_id)


def note_copy(turn: Turn, mail: Mail, key: EventKey) -> None:
    """Remember that this event, which is not the winner, carried the message too."""
    turn.put(COPIES, Copy(stream_ms=turn.stream_ms), mail.event.inbox_id, mail.message_id, key)


def report_duplicate(turn: Turn, mail: Mail, row: Identity) -> None:
    """Say what was dropped and who came first."""
    event = mail.event
    if event.event_key != row.event_key and turn.mark is None:
        note_copy(turn, mail, event.event_key)
    duplicate = Duplicate(
        event_key=event.event_key,
        reason=_reason(row, event),
        origin=_origin(mail),
        stage=STAGE,
        first=Where(topic=row.first_topic, partition=row.first_partition, offset=row.first_offset),
        first_at_ms=row.first_at_ms,
        inbox_id=event.inbox_id,
        message_id=mail.message_id,
    )
    headers = event_headers(event, DUPLICATE_TYPE)
    turn.emit(Topic.DUPLICATE_EVENTS, event.event_key, to_json(duplicate), headers=headers)


def tell_again(turn: Turn, mail: Mail, row: Identity) -> None:
    """Emit the winner as it was emitted before, under the replay's mark.

    A replay may find that it belongs to another thread, e.g. after a change of how threads are
    made out: then it comes late there, and says that it has moved.
    """
    ordered = ordered_of(mail.event, row, tie=mail.message_id)
    if mail.thread.key != row.thread_key:
        newest = thread_row(turn, mail.thread).newest
        ordered = msgspec.structs.replace(
            ordered,
            released=Released.LATE,
            late_by_ms=late_by_ms(mail.place, newest) or 0,
            is_moved=True,
        )
    emit_ordered(turn, ordered, turn.mark)


def _reason(row: Identity, event: ThreadEvent) -> str:
    if None not in (row.content_hash, event.content_hash) and (
        row.content_hash != event.content_hash
    ):
        return "content-differs"
    return "same-event" if row.event_key == event.event_key else "same-message"


def _origin(mail: Mail) -> Where:
    """Where the event came from outside, or for want of that where it stands here."""
    record = mail.record
    if mail.event.origin is not None:
        return mail.event.origin
    return Where(topic=record.topic, partition=record.partition, offset=record.offset)
