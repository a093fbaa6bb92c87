"""How a reply moves: the row, what follows from it in its thread, and what the world is told.

Owns: what each state does to a row's times, the thread's turn, and asking WRITE.
May not: choose a move; the table does, when a command, a timer or a result brings its cue.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from msgspec.structs import replace

from processors.core.ledger import MOVES, REPLAY_MOVES, Cue
from processors.core.ledger_index import first_queued, has_open, save
from processors.core.ledger_rows import ASKS, HELD, LEDGER, SETTLED, LedgerRow, State
from processors.core.outcomes import CONTRACTS, Contract
from processors.core.retry import HOUR_MS
from processors.core.send_outputs import (
    STAGE,
    emit_audit,
    emit_dead_letter,
    emit_receipt,
    emit_writer_request,
)
from processors.core.turn import Turn
from schemas.commands import AskReply
from schemas.keys import ReplyKey

DAY_MS: Final = 24 * HOUR_MS
# Ask, text and request are kept this long after a reply is settled, for those who look into it.
CONTENT_KEPT_MS: Final = 7 * DAY_MS
# As long as the receipts: while a row is there, no replay can owe its reply again.
ROW_KEPT_MS: Final = 400 * DAY_MS

_RUNNING: Final = frozenset({State.DUE, State.POSTING})
_REVIEWED: Final = frozenset({State.HELD_REVIEW, State.HELD_DRAFT})


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The settings that decisions about replies go by."""

    writer_timeout_ms: int
    give_up_after_ms: int
    approval_expiry_ms: int
    lease_ms: int
    calls_at_once: int
    contracts: Mapping[str, Contract] = field(default_factory=lambda: CONTRACTS)


class Work(NamedTuple):
    """A turn, and the policy by which it is decided."""

    turn: Turn
    policy: Policy


def open_reply(work: Work, ask: AskReply) -> None:
    """The ledger's first word of a reply: queued, or held where only a replay asks for it."""
    turn = work.turn
    moves, why = (MOVES, "") if turn.mark is None else (REPLAY_MOVES, "replay")
    row = LedgerRow(
        reply_key=ask.reply_key,
        state=moves[None, Cue.ASK].to,
        inbox_id=ask.inbox_id,
        thread_key=ask.thread_key,
        message_id=ask.message_id,
        provider=ask.provider,
        workspace=ask.workspace,
        account=ask.account,
        outcome=ask.outcome,
        position=ask.position,
    )
    opened = _arrived(work, row, row.state, why=why)
    save(turn, opened)
    _tell(turn, opened, before=None, by="decide", why=why)
    if opened.state is State.QUEUED:
        take_turn(work, opened)


def move(work: Work, row: LedgerRow, cue: Cue, *, by: str = STAGE, why: str = "") -> LedgerRow:
    """Carry out the table's move for this cue, and tell what has to be told. The row after it."""
    after = shift(work, row, cue, why=why)
    _tell(work.turn, after, before=row.state, by=by, why=why)
    if after.state is State.QUEUED or (row.is_open and not after.is_open):
        take_turn(work, after)
    return after


def shift(work: Work, row: LedgerRow, cue: Cue, *, why: str = "") -> LedgerRow:
    """The same, untold: for moves between open states that change nothing in the end."""
    after = _arrived(work, row, MOVES[row.state, cue].to, why=why)
    save(work.turn, after)
    return after


def take_turn(work: Work, row: LedgerRow) -> None:
    """Ask for the next reply of this reply's thread, unless one is open."""
    turn = work.turn
    if has_open(turn, row.inbox_id, row.thread_key):
        return
    if (key := first_queued(turn, row.inbox_id, row.thread_key)) is not None:
        _ask(work, ledger_row(turn, key))


def ask_again(work: Work, row: LedgerRow) -> None:
    """No text came in time: ask anew, wait twice as long, and let the thread go on meanwhile."""
    turn, policy = work
    asked_ms = max(0, turn.now_ms - row.asked_at_ms)
    if asked_ms >= policy.give_up_after_ms:
        give_up(work, row, Cue.TOO_OLD, why="no text")
        return
    wait_ms = min(asked_ms + policy.writer_timeout_ms, policy.give_up_after_ms - asked_ms)
    again = replace(row, ask_number=row.ask_number + 1, wake_at_ms=turn.now_ms + wait_ms)
    emit_writer_request(turn, again, ask_of(turn, row))
    after = move(work, replace(again, is_slow=True), Cue.NO_TEXT, why="no text in time")
    # From here the thread does not wait for it any more.
    take_turn(work, after)


def give_up(work: Work, row: LedgerRow, cue: Cue, *, why: str) -> LedgerRow:
    """Settle the reply as given up, with a dead letter from which it can be opened again."""
    after = move(work, row, cue, why=why)
    if not after.is_erased:
        emit_dead_letter(work.turn, after)
    return after


def leave_uncertain(work: Work, row: LedgerRow) -> LedgerRow:
    """A mail may be out there, and we cannot find out: a person has to look."""
    why = "key in use" if row.conflicts else "outcome unknown"
    after = move(work, row, Cue.UNCERTAIN, why=why)
    if row.conflicts and not row.is_erased:
        # The key was used with other bytes, or never let go: a fault to be looked into, besides
        # the question whether a mail went out.
        emit_dead_letter(work.turn, after)
    return after


def ledger_row(turn: Turn, key: ReplyKey) -> LedgerRow:
    """The row of a reply that an index names, so it is there."""
    row = turn.get(LEDGER, key)
    assert row is not None, key  # noqa: S101  # `save` writes rows and indexes together
    return row


def ask_of(turn: Turn, row: LedgerRow) -> AskReply:
    """The ask of a reply that is not settled, so it is there."""
    ask = turn.get(ASKS, row.reply_key)
    assert ask is not None, row.reply_key  # noqa: S101  # content is swept after settlement
    return ask.command


def _tell(turn: Turn, row: LedgerRow, *, before: str | None, by: str, why: str) -> None:
    emit_audit(turn, row, before=before, by=by, why=why)
    if row.state in HELD or row.state in SETTLED:
        emit_receipt(turn, row)


def _ask(work: Work, row: LedgerRow) -> None:
    turn, policy = work
    asked = replace(
        row,
        ask_number=row.ask_number + 1,
        asked_at_ms=turn.now_ms,
        is_slow=False,
        wake_at_ms=turn.now_ms + policy.writer_timeout_ms,
    )
    emit_writer_request(turn, asked, ask_of(turn, row))
    move(work, asked, Cue.TURN)


def _arrived(work: Work, row: LedgerRow, to: State, *, why: str) -> LedgerRow:
    now_ms = work.turn.now_ms
    row = replace(row, state=to)
    if to is not State.POSTING:
        row = replace(row, attempt="")
    if to not in _RUNNING:
        row = replace(row, counts_from_ms=0, lane="", lane_at_ms=0)
    if to is State.QUEUED:
        return replace(row, wake_at_ms=0, reason="")
    if to in HELD:
        kept_ms = work.policy.approval_expiry_ms if to in _REVIEWED else ROW_KEPT_MS
        return replace(
            row, hold_number=row.hold_number + 1, wake_at_ms=now_ms + kept_ms, reason=why
        )
    if to in SETTLED:
        kept_ms = 0 if row.is_erased else CONTENT_KEPT_MS
        return replace(row, settled_at_ms=now_ms, wake_at_ms=now_ms + kept_ms, reason=why)
    return row
