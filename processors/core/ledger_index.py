"""The indexes over the ledger: each reply's one timer, its thread's queue, its lane at a gate.

Owns: every index entry and timer that follows from a reply's row.
May not: decide. `save` and `forget` are the only writers of a reply's row, so no index can
disagree with it.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Final

from processors.core.ledger_rows import (
    ASKS,
    LANES,
    LEDGER,
    OPEN_REPLIES,
    QUEUED_REPLIES,
    REQUESTS,
    SAID,
    SETTLED,
    TEXTS,
    LedgerRow,
    Pointer,
    State,
)
from processors.core.tables import Part, Table
from processors.core.turn import Timer, Turn
from schemas.keys import InboxId, ReplyKey, ThreadKey

WRITER: Final = "writer"
DUE: Final = "due"
LEASE: Final = "lease"
EXPIRY: Final = "expiry"
SWEEP: Final = "sweep"
FORGET: Final = "forget"

_TIMER_KINDS: Final = {
    State.ASKED: WRITER,
    State.DUE: DUE,
    State.POSTING: LEASE,
    State.HELD_REVIEW: EXPIRY,
    State.HELD_DRAFT: EXPIRY,
}


def timer_of(row: LedgerRow) -> Timer | None:
    """The one timer of a reply, or None where a person, a lane or its thread moves it on."""
    if not row.wake_at_ms:
        return None
    settled = SWEEP if row.state in SETTLED and not row.is_swept else FORGET
    return Timer(row.wake_at_ms, _TIMER_KINDS.get(row.state, settled), row.reply_key)


def save(turn: Turn, row: LedgerRow) -> None:
    """Write the row, and bring its timer and its index entries in line with it."""
    before = turn.get(LEDGER, row.reply_key)
    _retime(turn, None if before is None else timer_of(before), timer_of(row))
    old, new = [] if before is None else _index_keys(before), _index_keys(row)
    pointer = Pointer(reply_key=row.reply_key, position=row.position)
    for table, parts in old:
        if (table, parts) not in new:
            turn.delete(table, *parts)
    for table, parts in new:
        if (table, parts) not in old:
            turn.put(table, pointer, *parts)
    turn.put(LEDGER, row, row.reply_key)


def forget(turn: Turn, row: LedgerRow) -> None:
    """Remove everything about a reply."""
    _retime(turn, timer_of(row), None)
    sweep(turn, row)
    turn.delete(LEDGER, row.reply_key)


def sweep(turn: Turn, row: LedgerRow) -> None:
    """Remove the content of a reply: ask, text, request, and what it said."""
    for table in (ASKS, TEXTS, REQUESTS):
        turn.delete(table, row.reply_key)
    turn.delete(SAID, row.inbox_id, row.thread_key, row.settled_at_ms, row.reply_key)


def first_queued(turn: Turn, inbox_id: InboxId, thread_key: ThreadKey) -> ReplyKey | None:
    """The reply of the thread that is next to be asked, by position."""
    first = next(turn.rows(QUEUED_REPLIES, inbox_id, thread_key), None)
    if first is None:
        return None
    # Keys order times and sequences; a tie is a text, which keys do not order as positions do.
    at = first[1].position
    same = turn.rows(QUEUED_REPLIES, inbox_id, thread_key, at.occurred_at_ns, at.sequence)
    return min((pointer.position.tie, pointer.reply_key) for _, pointer in same)[1]


def has_open(turn: Turn, inbox_id: InboxId, thread_key: ThreadKey) -> bool:
    """Whether a reply of the thread is asked, due or posting and has kept its place."""
    return next(_replies(turn, OPEN_REPLIES, inbox_id, thread_key), None) is not None


def first_in_lane(turn: Turn, lane: str, most: int) -> list[ReplyKey]:
    """The replies that have waited longest at a gate."""
    return list(islice(_replies(turn, LANES, lane), most))


def _replies(turn: Turn, table: Table[Pointer], *parts: Part) -> Iterator[ReplyKey]:
    return (pointer.reply_key for _, pointer in turn.rows(table, *parts))


def _retime(turn: Turn, before: Timer | None, after: Timer | None) -> None:
    if before == after:
        return
    if before is not None:
        turn.cancel_timer(before)
    if after is not None:
        turn.set_timer(after)


def _index_keys(row: LedgerRow) -> list[tuple[Table[Pointer], tuple[Part, ...]]]:
    keys: list[tuple[Table[Pointer], tuple[Part, ...]]] = []
    thread: tuple[Part, ...] = (row.inbox_id, row.thread_key)
    if row.state is State.QUEUED:
        at = row.position
        place = (*thread, at.occurred_at_ns, at.sequence, row.reply_key)
        keys.append((QUEUED_REPLIES, place))
    if row.is_open:
        keys.append((OPEN_REPLIES, (*thread, row.reply_key)))
    if row.lane:
        keys.append((LANES, (row.lane, row.lane_at_ms, row.reply_key)))
    return keys
