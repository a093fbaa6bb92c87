"""S3: settle a call that has ended: receipt, row and the fact for the thread, in one turn.

Owns: what a call's outcome makes of the reply, and when it is tried again.
May not: judge an answer (outcomes.py does), or count a result whose attempt the row does not name.
"""

from typing import Final

from msgspec.structs import replace

from processors.core import gates
from processors.core.ledger import Cue, next_state
from processors.core.ledger_rows import LedgerRow
from processors.core.outcomes import (
    Answer,
    Failure,
    Looked,
    Stopped,
    Verdict,
    health,
    judge,
    reason,
)
from processors.core.posting import age_ms, pull, wait_at
from processors.core.retry import backoff_ms, conflict_wait_ms, told_ms
from processors.core.send_moves import Work, give_up, leave_uncertain, move, shift
from processors.core.send_outputs import emit_sent_fact

Outcome = Answer | Stopped | Looked

# Ten looks with backoff take a quarter of an hour and more; then a person is asked.
MOST_LOOKUPS: Final = 10

_OK: Final = 200
_NOT_FOUND: Final = 404


def settle_call(work: Work, row: LedgerRow, outcome: Outcome) -> None:
    """S3. The call of a reply that is posting has ended, or counts as ended."""
    turn = work.turn
    answer = _answer_of(outcome)
    verdict = judge(answer, work.policy.contracts[row.provider])
    gates.give_slot(turn)
    opened = gates.note_call(
        turn,
        row,
        found=health(answer, verdict),
        reason=reason(answer),
        stopped=outcome.switch if isinstance(outcome, Stopped) else None,
    )
    if row.must_look:
        found = outcome.found if isinstance(outcome, Looked) else None
        _settle_look(work, row, answer, found=found, verdict=verdict)
    else:
        _settle_post(work, row, answer, verdict=verdict)
    for lane in (*opened, gates.SLOTS_LANE):
        pull(work, lane)


def _answer_of(outcome: Outcome) -> Answer:
    if isinstance(outcome, Stopped):
        return Answer(failure=Failure.UNWRITTEN)
    return outcome.answer if isinstance(outcome, Looked) else outcome


def _settle_post(work: Work, row: LedgerRow, answer: Answer, *, verdict: Verdict) -> None:
    spent = replace(row, attempts=row.attempts + 1, was_attempted=True)
    unsure = replace(spent, is_unsure=True)
    told = told_ms(answer.retry_after, now_ms=work.turn.now_ms)
    backoff = backoff_ms(row.reply_key, spent.attempts)
    why = reason(answer)
    match verdict:
        case Verdict.ACCEPTED:
            _accept(work, spent, answer.message_id, thread_id=answer.thread_id)
        case Verdict.REJECTED:
            give_up(work, replace(spent, is_rejected=True), Cue.REJECTED, why=why)
        case Verdict.NOT_NOW:
            _later(work, spent, told or backoff, why=why)
        case Verdict.UNKNOWN if told is not None:
            _later(work, unsure, told, why=why)
        case Verdict.UNKNOWN:
            waiting = replace(unsure, attempts=row.attempts)
            _later_or_wait(work, unsure, backoff, waiting=waiting, why=why)
        case Verdict.PAUSE | Verdict.UNWRITTEN:
            # Nothing was sent. Where no gate closes, the wait must grow all the same.
            tried = replace(row, attempts=spent.attempts)
            _later_or_wait(work, tried, backoff, waiting=row, why=why)
        case _:
            _in_conflict(work, unsure, verdict=verdict, why=why)


def _in_conflict(work: Work, row: LedgerRow, *, verdict: Verdict, why: str) -> None:
    """The key is in use. Still running: wait. Other content: look. Not said: wait, then look."""
    row = replace(row, conflicts=row.conflicts + 1)
    wait_ms = conflict_wait_ms(row.conflicts)
    if verdict is Verdict.OTHER_CONTENT or (wait_ms is None and verdict is Verdict.IN_CONFLICT):
        _later(work, replace(row, must_look=True), 0, why=why)
    elif wait_ms is None:
        again = replace(row, conflicts=0)
        _later(work, again, backoff_ms(row.reply_key, row.attempts), why=why)
    else:
        _later(work, row, wait_ms, why=why)


def _settle_look(
    work: Work,
    row: LedgerRow,
    answer: Answer,
    *,
    found: tuple[str, str | None] | None,
    verdict: Verdict,
) -> None:
    if found is not None:
        _accept(work, row, found[0], thread_id=found[1])
        return
    if not answer.failure and answer.status in {_OK, _NOT_FOUND}:
        leave_uncertain(work, row)
        return
    looked = replace(row, lookups=row.lookups + 1)
    if looked.lookups >= MOST_LOOKUPS and verdict is not Verdict.PAUSE:
        leave_uncertain(work, looked)
        return
    wait_ms = backoff_ms(row.reply_key, looked.lookups)
    _later_or_wait(work, looked, wait_ms, waiting=row, why=reason(answer))


def _accept(work: Work, row: LedgerRow, message_id: str | None, *, thread_id: str | None) -> None:
    sent = replace(
        row, is_unsure=False, provider_message_id=message_id, provider_thread_id=thread_id
    )
    # The fact first: the thread's next writer, who may be asked by the move, is to know of it.
    emit_sent_fact(work.turn, sent)
    move(work, sent, Cue.ACCEPTED)


def _later_or_wait(
    work: Work, row: LedgerRow, wait_ms: int, *, waiting: LedgerRow, why: str
) -> None:
    """Try again after the wait; or wait at the gate that the call found closed, unspent."""
    gate = gates.closed_gate(work.turn, waiting)
    if gate is None or _is_withdrawn(row):
        _later(work, row, wait_ms, why=why)
    else:
        # A probe that found its gate still closed leaves no trace: there may be thousands of them.
        step = move if gates.is_newly_closed(work.turn, gate) else shift
        wait_at(work.turn, step(work, waiting, Cue.LATER, why=why), gate)


def _later(work: Work, row: LedgerRow, wait_ms: int, *, why: str) -> None:
    if _is_withdrawn(row):
        move(work, row, Cue.WITHDRAWN_MEANWHILE, why=row.withdrawn)
        return
    turn, policy = work
    left_ms = max(0, policy.give_up_after_ms - age_ms(turn, row))
    wake_at_ms = turn.now_ms + (wait_ms if row.must_look else min(wait_ms, left_ms))
    move(work, replace(row, wake_at_ms=wake_at_ms), Cue.LATER, why=why)


def _is_withdrawn(row: LedgerRow) -> bool:
    return bool(row.withdrawn) and next_state(row, Cue.WITHDRAWN_MEANWHILE) is not None
