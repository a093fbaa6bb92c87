"""SEND's decisions: what a command, a timer or a call's result does to a reply.

Owns: what is looked up before a decision, and which timers and results still count.
May not: send twice. Every move is the table's (ledger.py); every claim is committed before its
call; every repeat carries the same key and the same bytes.
"""

from collections.abc import Callable, Mapping
from typing import Final

from msgspec.structs import replace

from processors.core import gates
from processors.core.ledger import Cue, next_state, next_state_in_replay
from processors.core.ledger_index import (
    DUE,
    EXPIRY,
    FORGET,
    LEASE,
    SWEEP,
    WRITER,
    forget,
    save,
    sweep,
    timer_of,
)
from processors.core.ledger_rows import ASKS, LEDGER, SETTLED, TEXTS, LedgerRow, State
from processors.core.outcomes import Answer, Failure
from processors.core.posting import LEASE_GRACE_MS, admit, pull, try_gate
from processors.core.retry import ACCOUNT_PAUSE_CAP_MS, RETRY_AFTER_CAP_MS
from processors.core.send_commands import HANDLERS, cue_of
from processors.core.send_moves import (
    CONTENT_KEPT_MS,
    ROW_KEPT_MS,
    Policy,
    Work,
    ask_again,
    move,
)
from processors.core.send_outputs import STAGE
from processors.core.settling import settle_call
from processors.core.turn import Record, Result, Timer, Turn
from schemas.commands import COMMAND, DeliveryFact
from schemas.errors import TooLarge
from schemas.headers import DEAD_STAGE, header

# Events, logs and texts are far smaller; JSON may spell a character with six bytes. At this size
# all that SEND makes of a command still fits a record.
MOST_COMMAND_BYTES: Final = 2 * 1024 * 1024


def keys(record: Record) -> tuple[bytes, ...]:
    """The rows that a command needs: those of its reply. Raises DecodeError."""
    if record.value is None:
        return ()
    key = COMMAND.decode(record.value).reply_key
    return LEDGER.key(key), ASKS.key(key), TEXTS.key(key)


def on_record(record: Record, turn: Turn, *, policy: Policy) -> None:
    """Carry out one command, if the table lists it for where its reply stands."""
    if record.value is None:
        # A deletion. Nothing deletes orders, and a ledger row goes by its age alone.
        return
    command = COMMAND.decode(record.value)
    row = turn.get(LEDGER, command.reply_key)
    if isinstance(command, DeliveryFact):
        _note_delivery(turn, row, command)
        return
    cue = cue_of(command, row, is_redriven=header(record.headers, DEAD_STAGE) == STAGE)
    if record.mark is None:
        to = next_state(row, cue, command=command)
    else:
        to = next_state_in_replay(row, cue)
    if row is not None and cue is Cue.ERASE:
        row = _note_erasure(turn, row)
    if to is not None:
        if len(record.value) > MOST_COMMAND_BYTES:
            raise TooLarge(f"a command of {len(record.value)} bytes")
        HANDLERS[cue](Work(turn, policy), row, command)


def on_timer(timer: Timer, turn: Turn, *, policy: Policy) -> None:
    """Look again at a reply or a gate. A timer that its row does not name any more is stale."""
    work = Work(turn, policy)
    if timer.kind == gates.GATE:
        try_gate(work, timer)
    elif timer.kind == gates.LANE:
        pull(work, timer.id)
    else:
        row = turn.get(LEDGER, timer.id)
        if row is not None and timer_of(row) == timer:
            _WAKERS[timer.kind](work, row)


def on_result(result: Result, turn: Turn, *, policy: Policy) -> None:
    """S3, if the row still says posting with this attempt."""
    row = turn.get(LEDGER, result.id)
    if row is not None and row.state is State.POSTING and row.attempt == result.attempt:
        settle_call(Work(turn, policy), row, result.outcome)


def timer_limits_ms(policy: Policy) -> dict[str, int]:
    """How far ahead each kind of timer can be; one that is due later is due now."""
    return {
        WRITER: policy.give_up_after_ms,
        DUE: RETRY_AFTER_CAP_MS,
        LEASE: policy.lease_ms + LEASE_GRACE_MS,
        EXPIRY: policy.approval_expiry_ms,
        SWEEP: CONTENT_KEPT_MS,
        FORGET: ROW_KEPT_MS,
        gates.GATE: ACCOUNT_PAUSE_CAP_MS,
        gates.LANE: 0,
    }


def _note_delivery(turn: Turn, row: LedgerRow | None, fact: DeliveryFact) -> None:
    is_news = row is not None and fact.occurred_at_ns >= row.delivery_at_ns
    if row is not None and is_news and turn.mark is None:
        save(turn, replace(row, delivery=fact.kind, delivery_at_ns=fact.occurred_at_ns))


def _note_erasure(turn: Turn, row: LedgerRow) -> LedgerRow:
    erased = replace(row, is_erased=True)
    if row.state in SETTLED and not row.is_swept:
        erased = replace(erased, wake_at_ms=turn.now_ms)
    save(turn, erased)
    return erased


def _sweep(work: Work, row: LedgerRow) -> None:
    sweep(work.turn, row)
    save(work.turn, replace(row, is_swept=True, wake_at_ms=row.settled_at_ms + ROW_KEPT_MS))


def _forget(work: Work, row: LedgerRow) -> None:
    forget(work.turn, row)


def _expire(work: Work, row: LedgerRow) -> None:
    move(work, row, Cue.EXPIRED, why="expired")


def _lose(work: Work, row: LedgerRow) -> None:
    settle_call(work, row, Answer(failure=Failure.LOST))


def _admit(work: Work, row: LedgerRow) -> None:
    admit(work, row)


_WAKERS: Final[Mapping[str, Callable[[Work, LedgerRow], None]]] = {
    WRITER: ask_again,
    DUE: _admit,
    LEASE: _lose,
    EXPIRY: _expire,
    SWEEP: _sweep,
    FORGET: _forget,
}
