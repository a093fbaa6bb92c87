"""A new mail: through at once, or held, for how long, and up to what limit.

Owns: the choice of the wait, and what an announced mail's arrival does to its announcement.
May not: judge copies.
"""

from typing import Final

import msgspec

from processors.core.reorder_hold import drop_held, next_number, put_held
from processors.core.reorder_identity import Mail, note_copy, winner_of
from processors.core.reorder_order import is_opening, late_by_ms
from processors.core.reorder_release import Going, is_known, pass_on, release_early, settle
from processors.core.reorder_rows import (
    IDENTITIES,
    THREADS,
    Held,
    Identity,
    Released,
    Rules,
    State,
    Thread,
    ThreadRow,
    Wait,
    thread_row,
)
from processors.core.turn import Turn
from schemas.events import Kind

# Threads that one unknown parent can set free, where it comes in another thread than its child.
# One more waits its full time instead.
_WAITING_THREADS: Final = 16


def offer(turn: Turn, rules: Rules, mail: Mail, *, before: Identity | None) -> None:
    """Let the mail through or hold it, and let go whatever it sets free."""
    freed = [] if before is None else _take_place(turn, mail, before)
    thread = _remembered(turn, mail.thread, rules.horizon_ms)
    winner = winner_of(turn, mail, before)
    released = _at_once(turn, mail, thread)
    if released is None:
        _hold(turn, rules, mail, winner=winner, thread=thread)
        settle(turn, threads=[mail.thread, *freed])
        release_early(turn, rules, mail.thread)
        return
    going = Going(event=mail.event, place=mail.place, released=released, mark=turn.mark)
    newest, waiting = pass_on(turn, going, identity=winner, newest=thread.newest)
    row = ThreadRow(stream_ms=turn.stream_ms, held=thread.held, newest=newest)
    turn.put(THREADS, row, *mail.thread)
    if thread.held or waiting or freed:
        settle(turn, threads=[mail.thread, *waiting, *freed])


def _remembered(turn: Turn, thread: Thread, horizon_ms: int) -> ThreadRow:
    row = thread_row(turn, thread)
    if row.held or row.stream_ms + horizon_ms > turn.stream_ms:
        return row
    return ThreadRow(stream_ms=turn.stream_ms)


def _take_place(turn: Turn, mail: Mail, before: Identity) -> list[Thread]:
    """The mail replaces its announcement. Returns the thread that held the announcement."""
    if before.state not in (State.ANNOUNCED, State.UNAVAILABLE):
        return []
    note_copy(turn, mail, before.event_key)
    if before.number is None:
        return []
    return [drop_held(turn, before.number)]


def _at_once(turn: Turn, mail: Mail, thread: ThreadRow) -> str | None:
    """What lets the mail through now, or None."""
    if mail.event.kind == Kind.ANNOUNCED:
        return None
    if late_by_ms(mail.place, thread.newest) is not None:
        return Released.LATE
    if thread.held:
        return None
    if is_opening(mail.event, mail.parent):
        return Released.OPENING
    if mail.parent is not None and is_known(turn, mail.event.inbox_id, mail.parent):
        return Released.PARENT
    return None


def _hold(turn: Turn, rules: Rules, mail: Mail, *, winner: Identity, thread: ThreadRow) -> None:
    """Hold the mail. A late announcement is held outside its thread: nothing waits behind it."""
    row = _held_row(turn, rules, mail, number=next_number(turn))
    put_held(turn, row, mail.content)
    turn.put(
        IDENTITIES,
        msgspec.structs.replace(winner, number=row.number),
        mail.event.inbox_id,
        mail.message_id,
    )
    if late_by_ms(mail.place, thread.newest) is None:
        held = (*thread.held, row.number)
        kept = ThreadRow(stream_ms=turn.stream_ms, held=held, newest=thread.newest)
        turn.put(THREADS, kept, *mail.thread)
    if row.wait == Wait.PREDECESSOR and row.parent is not None:
        _wait_for(turn, mail, row.parent)


def _held_row(turn: Turn, rules: Rules, mail: Mail, *, number: int) -> Held:
    wait, wait_ms = _wait(turn, rules, mail)
    due_ms = turn.now_ms + wait_ms
    return Held(
        number=number,
        inbox_id=mail.event.inbox_id,
        thread_key=mail.thread.key,
        message_id=mail.message_id,
        place=mail.place,
        parent=mail.parent,
        is_opening=is_opening(mail.event, mail.parent),
        is_clamped=mail.event.time_mark is not None,
        wait=wait,
        held_at_ms=turn.now_ms,
        due_ms=due_ms,
        alarm=wait,
        alarm_ms=due_ms,
        size_bytes=len(mail.content),
        mark=turn.mark,
    )


def _wait(turn: Turn, rules: Rules, mail: Mail) -> tuple[str, int]:
    """What the mail waits for, and how long. A parent that is held itself is not known yet."""
    if mail.event.kind == Kind.ANNOUNCED:
        return Wait.FETCH, rules.fetch_wait_ms
    if mail.parent is None or is_known(turn, mail.event.inbox_id, mail.parent):
        return Wait.GRACE, rules.grace_ms
    return Wait.PREDECESSOR, rules.predecessor_wait_ms


def _wait_for(turn: Turn, mail: Mail, parent: str) -> None:
    """Have the parent, in whatever thread it comes, set this mail's thread free."""
    inbox_id, key = mail.event.inbox_id, mail.thread.key
    row = turn.get(IDENTITIES, inbox_id, parent)
    if row is None:
        row = Identity(stream_ms=turn.stream_ms, state=State.WAITED)
    if key not in row.waiting and len(row.waiting) < _WAITING_THREADS:
        waiting = msgspec.structs.replace(row, waiting=(*row.waiting, key))
        turn.put(IDENTITIES, waiting, inbox_id, parent)
