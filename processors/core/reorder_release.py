"""Passing events on: what is written to `ordered-events`, and what an event's going lets go.

Owns: the output records, the change of an identity from held to settled, and the release of
chains, within a thread and from one thread to another.
May not: decide whether an event is a duplicate.
"""

import msgspec

from processors.core.event_headers import event_headers
from processors.core.reorder_hold import held_of, oldest_above_caps, take_held
from processors.core.reorder_order import late_by_ms, over, ready
from processors.core.reorder_rows import (
    IDENTITIES,
    THREADS,
    Held,
    Identity,
    Place,
    Released,
    Rules,
    State,
    Thread,
    ThreadRow,
    must_get,
    thread_row,
)
from processors.core.turn import Output, Turn
from schemas.codec import to_json
from schemas.events import Kind, OrderedEvent, Position, ThreadEvent
from schemas.keys import InboxId, MessageId
from schemas.topics import Topic

# A parent that is one of these has had its turn, or needs none.
_KNOWN = frozenset({State.KNOWN, State.SETTLED, State.UNAVAILABLE, State.ERASED})


class Going(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A mail that goes now: where it stands and what let it through."""

    event: ThreadEvent
    place: Place
    released: str
    mark: str | None
    held_ms: int = 0


def is_known(turn: Turn, inbox_id: InboxId, message_id: MessageId) -> bool:
    """Whether a mail that answers this message has nothing to wait for."""
    row = turn.get(IDENTITIES, inbox_id, message_id)
    return row is not None and row.state in _KNOWN


def pass_on(
    turn: Turn, going: Going, *, identity: Identity, newest: Place | None
) -> tuple[Place | None, list[Thread]]:
    """Emit the mail and settle its identity.

    Returns the newest place of the thread from now on, and the threads that waited for this mail.
    A clamped time never makes a place the newest: it is when we received the mail, so measured
    by it all mail that was on its way meanwhile would be late.
    """
    event, place = going.event, going.place
    late_ms = late_by_ms(place, newest)
    is_announced = event.kind == Kind.ANNOUNCED
    settled = msgspec.structs.replace(
        identity,
        number=None,
        state=State.UNAVAILABLE if is_announced else State.SETTLED,
        waiting=(),
        released=going.released,
        held_ms=going.held_ms,
        late_by_ms=late_ms,
    )
    turn.put(IDENTITIES, settled, event.inbox_id, place[2])
    emit_ordered(turn, ordered_of(event, settled, tie=place[2]), going.mark)
    waiting = [Thread(event.inbox_id, key) for key in identity.waiting]
    if late_ms is not None or event.time_mark is not None:
        return newest, waiting
    return place, waiting


def ordered_of(event: ThreadEvent, settled: Identity, *, tie: str) -> OrderedEvent:
    """The mail with the place and the story that its identity row keeps.

    An announcement that goes out itself has no mail: without a message id nothing answers it.
    """
    if event.kind == Kind.ANNOUNCED:
        event = msgspec.structs.replace(event, message_id=None)
    return OrderedEvent(
        event=event,
        position=Position(
            occurred_at_ns=settled.occurred_at_ns, sequence=settled.sequence, tie=tie
        ),
        released=settled.released,
        held_ms=settled.held_ms,
        late_by_ms=settled.late_by_ms,
    )


def emit_ordered(turn: Turn, ordered: OrderedEvent, mark: str | None) -> None:
    """Write the record under this mark, which need not be that of the record in hand."""
    headers = event_headers(ordered.event, ordered.event.kind)
    turn.emit_marked(
        Output(Topic.ORDERED_EVENTS, ordered.event.inbox_id, to_json(ordered), headers, mark)
    )


def settle(turn: Turn, *, threads: list[Thread], fired: int = 0) -> None:
    """Let go all that may go in these threads, and in those that what goes sets free.

    `fired` is the number of the held event whose timer rang. This ends: a thread is looked at
    again only for an event that went, and held events are finite.
    """
    waiting = list(threads)
    while waiting:
        thread = waiting.pop(0)
        if thread_row(turn, thread).held:
            waiting += _let_go_ready(turn, thread, fired=fired)


def release_early(turn: Turn, rules: Rules, thread: Thread) -> None:
    """Bring the thread, and then the partition, below what may be held.

    The oldest goes: the first in order of a full thread; of a full partition the one held longest,
    and with it what stands before it in its thread, so that nothing becomes late by it.
    """
    row = thread_row(turn, thread)
    if len(row.held) > rules.hold_per_thread:
        _let_go_capped(turn, held_of(turn, row)[0])
    for oldest in oldest_above_caps(turn, rules):
        _let_go_capped(turn, oldest)


def _let_go_capped(turn: Turn, last: Held) -> None:
    thread = last.thread
    held = held_of(turn, thread_row(turn, thread))
    going = [each for each in held if each.place < last.place] + [last]
    freed = let_go(turn, thread, [(each, Released.CAP) for each in going])
    settle(turn, threads=[thread, *freed])


def _let_go_ready(turn: Turn, thread: Thread, *, fired: int) -> list[Thread]:
    """Let go all that may go in this thread; returns the threads that waited for any of it."""
    held = held_of(turn, thread_row(turn, thread))
    freed: list[Thread] = []
    while going := ready(
        held,
        over(held, now_ms=turn.now_ms, fired=fired),
        lambda message_id: is_known(turn, thread.inbox_id, message_id),
    ):
        freed += let_go(turn, thread, going)
        gone = {row.number for row, _ in going}
        held = [row for row in held if row.number not in gone]
    return freed


def let_go(turn: Turn, thread: Thread, going: list[tuple[Held, str]]) -> list[Thread]:
    """Pass these held events of a thread on. Returns the threads that waited for any of them."""
    row = thread_row(turn, thread)
    newest, freed = row.newest, list[Thread]()
    for held, released in going:
        each = Going(
            event=take_held(turn, held),
            place=held.place,
            released=released,
            mark=held.mark,
            held_ms=max(0, turn.now_ms - held.held_at_ms),
        )
        identity = must_get(turn, IDENTITIES, held.inbox_id, held.message_id)
        newest, waiting = pass_on(turn, each, identity=identity, newest=newest)
        freed += waiting
    gone = {held.number for held, _ in going}
    held_on = tuple(number for number in row.held if number not in gone)
    turn.put(THREADS, ThreadRow(stream_ms=turn.stream_ms, held=held_on, newest=newest), *thread)
    return freed
