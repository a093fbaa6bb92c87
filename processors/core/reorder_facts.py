"""Facts: what is said of a message, or of nobody's. They pass without waiting.

Owns: which facts make a message id known, and what an erasure does here.
May not: make a fact late, or let it wait.
"""

from typing import Final

import msgspec

from processors.core.reorder_hold import drop_held
from processors.core.reorder_order import place_of
from processors.core.reorder_release import emit_ordered, settle
from processors.core.reorder_rows import (
    IDENTITIES,
    Identity,
    Released,
    State,
    Thread,
)
from processors.core.turn import Turn
from schemas.events import Kind, OrderedEvent, Position, ThreadEvent
from schemas.keys import MessageId

# Each of these says that a message went out from the inbox, or came into it and goes no further.
# Whoever names such a message as its parent has nothing to wait for.
_TELL_OF_A_MESSAGE: Final = frozenset(
    {
        Kind.REPLY_SENT,
        Kind.SENT,
        Kind.DELIVERED,
        Kind.BOUNCED,
        Kind.COMPLAINED,
        Kind.REJECTED,
        Kind.OPENED,
        Kind.RECEIVED_SPAM,
        Kind.RECEIVED_BLOCKED,
        Kind.RECEIVED_UNAUTHENTICATED,
    }
)


def pass_fact(turn: Turn, event: ThreadEvent) -> None:
    """Pass the fact on, and let go what waited for the message that it tells of.

    A replay's facts end here, an erasure excepted: whoever reads them has acted on them. That
    they tell of a message is remembered all the same.
    """
    if turn.mark is None or event.kind == Kind.ERASED:
        at_ns, sequence, tie = place_of(event, event.event_id)
        position = Position(occurred_at_ns=at_ns, sequence=sequence, tie=tie)
        emit_ordered(
            turn, OrderedEvent(event=event, position=position, released=Released.FACT), turn.mark
        )
    if event.message_id is None:
        return
    if event.kind == Kind.ERASED:
        _forget(turn, event, message_id=event.message_id)
    elif event.kind in _TELL_OF_A_MESSAGE:
        _make_known(turn, event, message_id=event.message_id)


def _make_known(turn: Turn, event: ThreadEvent, *, message_id: MessageId) -> None:
    row = turn.get(IDENTITIES, event.inbox_id, message_id)
    if row is not None and row.state != State.WAITED:
        return
    known = Identity(stream_ms=turn.stream_ms, state=State.KNOWN)
    turn.put(IDENTITIES, known, event.inbox_id, message_id)
    if row is not None:
        settle(turn, threads=[Thread(event.inbox_id, key) for key in row.waiting])


def _forget(turn: Turn, event: ThreadEvent, *, message_id: MessageId) -> None:
    """Take the mail out of what is held; what waited for it waits no longer."""
    row = turn.get(IDENTITIES, event.inbox_id, message_id)
    if row is None or row.state in (State.WAITED, State.KNOWN):
        return
    erased = msgspec.structs.replace(row, state=State.ERASED, number=None, waiting=())
    turn.put(IDENTITIES, erased, event.inbox_id, message_id)
    threads = [Thread(event.inbox_id, key) for key in (row.thread_key, *row.waiting)]
    if row.number is not None:
        drop_held(turn, row.number)
    settle(turn, threads=threads)
