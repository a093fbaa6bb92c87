"""S1: claim a due reply. Row, exact request, attempt id and lease timer are written together.

S2 is the call itself, in the shell, once S1 is committed; S3 settles what came of it
(settling.py).

Owns: which due reply may be claimed when, and where the others wait.
May not: call anybody, or claim a reply whose key may have expired while an outcome is unknown.
"""

from typing import Final

from msgspec.structs import replace

from processors.core import gates
from processors.core.ledger import Cue
from processors.core.ledger_index import first_in_lane
from processors.core.ledger_rows import REQUESTS, TEXTS, LedgerRow, Request, State
from processors.core.outcomes import KEY_MARGIN_MS
from processors.core.requests import LOOK_UP, POST, LookCall, look_call, post_call, reply_request
from processors.core.retry import SECOND_MS
from processors.core.send_moves import (
    Work,
    ask_of,
    give_up,
    leave_uncertain,
    ledger_row,
    move,
    shift,
)
from processors.core.turn import Effect, Timer, Turn

# The lease timer looks this much later than the lease ends: a call that made it in time is heard.
LEASE_GRACE_MS: Final = SECOND_MS
# What one turn lets out of a lane; the rest follows in the next, so no batch grows without limit.
MOST_PULLED: Final = 200
# How many waiting replies are tried as a gate's probe before the gate waits again.
MOST_PROBES: Final = 10


def start_posting(work: Work, row: LedgerRow) -> LedgerRow:
    """A reply has just become due: its time counts from now, and it goes at once if it may."""
    return admit(work, replace(row, counted_ms=0, counts_from_ms=work.turn.now_ms))


def admit(work: Work, row: LedgerRow) -> LedgerRow:
    """A due reply's time has come: claim it, or let it wait where it must. The row after it."""
    turn, policy = work
    row = replace(
        row,
        lane="",
        lane_at_ms=0,
        wake_at_ms=0,
        counts_from_ms=row.counts_from_ms or turn.now_ms,
    )
    is_old = age_ms(turn, row) >= policy.give_up_after_ms
    if row.is_unsure and (is_old or not _key_is_alive(work, row)):
        row = replace(row, must_look=True)
    if is_old and not row.must_look:
        return give_up(work, row, Cue.TOO_OLD, why="too old")
    look = _look_call(work, row) if row.must_look else None
    if row.must_look and look is None:
        return leave_uncertain(work, row)
    if (gate := gates.closed_gate(turn, row)) is not None:
        return wait_at(turn, row, gate)
    if gates.slots_taken(turn) >= policy.calls_at_once and not gates.is_probe(turn, row):
        return gates.join_lane(turn, row, gates.SLOTS_LANE)
    return _claim(work, row, look)


def pull(work: Work, lane: str) -> None:
    """Let out who waits in the lane, oldest first, as many as may go."""
    turn = work.turn
    if gates.is_closed(turn, lane):
        return
    for _ in range(MOST_PULLED):
        if lane == gates.SLOTS_LANE and gates.slots_taken(turn) >= work.policy.calls_at_once:
            return
        if not (waiting := first_in_lane(turn, lane, 1)):
            return
        admit(work, ledger_row(turn, waiting[0]))
    turn.set_timer(Timer(turn.now_ms, gates.LANE, lane))


def try_gate(work: Work, timer: Timer) -> None:
    """A closed gate's pause is over: let one reply through, or open it if nobody waits."""
    turn, name = work.turn, timer.id
    if not gates.is_due(turn, timer):
        return
    for key in first_in_lane(turn, name, MOST_PROBES):
        gates.let_through(turn, name, key)
        if admit(work, ledger_row(turn, key)).state is State.POSTING:
            return
    if first_in_lane(turn, name, 1):
        gates.wait_longer(turn, name)
    else:
        gates.open_gate(turn, name)


def age_ms(turn: Turn, row: LedgerRow) -> int:
    """How long the reply has been due and posting, less what was stopped or paused."""
    running_ms = turn.now_ms - row.counts_from_ms if row.counts_from_ms else 0
    return row.counted_ms + max(0, running_ms)


def wait_at(turn: Turn, row: LedgerRow, gate: str) -> LedgerRow:
    """Let the reply wait at a closed gate. Its time there does not count towards giving up."""
    paused = replace(row, counted_ms=age_ms(turn, row), counts_from_ms=0)
    return gates.join_lane(turn, paused, gate)


def _key_is_alive(work: Work, row: LedgerRow) -> bool:
    # A clock that says the key is older than now is not to be believed: the key counts as dead.
    ttl_ms = work.policy.contracts[row.provider].key_ttl_ms
    return 0 <= work.turn.now_ms - row.key_from_ms < ttl_ms - KEY_MARGIN_MS


def _look_call(work: Work, row: LedgerRow) -> LookCall | None:
    if not work.policy.contracts[row.provider].can_look_up:
        return None
    return look_call(ask_of(work.turn, row))


def _claim(work: Work, row: LedgerRow, look: LookCall | None) -> LedgerRow:
    turn, lease_ms = work.turn, work.policy.lease_ms
    claims = row.claims + 1
    claimed = replace(
        row,
        claims=claims,
        attempt=f"{row.reply_key[-8:]}-{claims}-{turn.now_ms}",
        # Until an outcome is unknown no provider holds our key: its life begins with this call.
        key_from_ms=row.key_from_ms if row.is_unsure else turn.now_ms,
        wake_at_ms=turn.now_ms + lease_ms + LEASE_GRACE_MS,
    )
    call = post_call(row, _request(work, row)) if look is None else look
    after = (shift if gates.is_probe(turn, row) else move)(work, claimed, Cue.CLAIM)
    gates.take_slot(turn)
    kind = POST if look is None else LOOK_UP
    turn.start(Effect(kind, row.reply_key, claimed.attempt, call, lease_ms))
    return after


def _request(work: Work, row: LedgerRow) -> Request:
    turn = work.turn
    if (stored := turn.get(REQUESTS, row.reply_key)) is not None:
        return stored
    text = turn.get(TEXTS, row.reply_key)
    assert text is not None, row.reply_key  # noqa: S101  # a reply is due only with its text
    request = reply_request(ask_of(turn, row), text)
    turn.put(REQUESTS, request, row.reply_key)
    return request
