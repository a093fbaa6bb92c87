"""The gates that replies pass on their way out: their account, and the kill switches.

A closed gate keeps replies waiting in its lane, without a timer of their own and without their
time counting. When its pause is over one reply is let through to try; what comes of it opens the
gate or closes it for longer.

Owns: when a gate closes and opens, the lanes, and the count of calls under way.
May not: claim a reply or settle one.
"""

from typing import Final

from msgspec.structs import replace

from processors.core.ledger_index import first_in_lane, save
from processors.core.ledger_rows import GATES, SLOTS, GateRow, LedgerRow, Slots
from processors.core.outcomes import Health
from processors.core.requests import switches_of
from processors.core.retry import (
    ACCOUNT_PAUSE_CAP_MS,
    SECOND_MS,
    STOP_PAUSE_CAP_MS,
    pause_ms,
)
from processors.core.send_outputs import audit_gate
from processors.core.turn import Timer, Turn
from schemas.keys import ReplyKey

GATE: Final = "gate"
LANE: Final = "lane"
# The lane of replies that may go and only wait for a call of the partition to end.
SLOTS_LANE: Final = "slots"
_ACCOUNT: Final = "account/"

# One failing reply may be at fault itself; three different ones in a row are an outage.
FAILURES_TO_CLOSE: Final = 3


def account_gate(row: LedgerRow) -> str:
    """The gate of the account through which a reply leaves."""
    return f"{_ACCOUNT}{row.account}"


def gates_of(row: LedgerRow) -> tuple[str, ...]:
    """Every gate of a reply. A look-up posts nothing, so kill switches do not stop it."""
    if row.must_look:
        return (account_gate(row),)
    return (account_gate(row), *switches_of(row.inbox_id, row.workspace))


def closed_gate(turn: Turn, row: LedgerRow) -> str | None:
    """The gate that keeps the reply waiting, or None. A gate's probe passes it."""
    for name in gates_of(row):
        gate = turn.get(GATES, name)
        if gate is not None and gate.closed_until_ms and gate.probe != row.reply_key:
            return name
    return None


def is_closed(turn: Turn, name: str) -> bool:
    """Whether the gate lets nobody through but its probe."""
    gate = turn.get(GATES, name)
    return gate is not None and gate.closed_until_ms > 0


def is_newly_closed(turn: Turn, name: str) -> bool:
    """Whether no probe has failed at the gate since it closed."""
    gate = turn.get(GATES, name)
    return gate is not None and gate.streak == 1


def is_due(turn: Turn, timer: Timer) -> bool:
    """Whether the timer is the gate's own, and no probe of it is under way."""
    gate = turn.get(GATES, timer.id)
    return gate is not None and gate.closed_until_ms == timer.due_ms and not gate.probe


def is_probe(turn: Turn, row: LedgerRow) -> bool:
    """Whether the reply is the one that a gate let through to try."""
    gates = (turn.get(GATES, name) for name in gates_of(row))
    return any(gate is not None and gate.probe == row.reply_key for gate in gates)


def join_lane(turn: Turn, row: LedgerRow, lane: str) -> LedgerRow:
    """Let the reply wait in the lane, behind those that are there."""
    waiting = replace(row, lane=lane, lane_at_ms=turn.now_ms, wake_at_ms=0)
    save(turn, waiting)
    return waiting


def slots_taken(turn: Turn) -> int:
    """How many calls of this partition are under way."""
    slots = turn.get(SLOTS)
    return 0 if slots is None else slots.taken


def take_slot(turn: Turn) -> None:
    """One more call is under way."""
    turn.put(SLOTS, Slots(taken=slots_taken(turn) + 1))


def give_slot(turn: Turn) -> None:
    """A call has ended, or counts as ended."""
    turn.put(SLOTS, Slots(taken=max(0, slots_taken(turn) - 1)))


def let_through(turn: Turn, name: str, reply_key: ReplyKey) -> None:
    """Make this one reply the probe of a closed gate: it passes."""
    gate = turn.get(GATES, name) or GateRow()
    turn.put(GATES, replace(gate, probe=reply_key), name)


def wait_longer(turn: Turn, name: str) -> None:
    """Nobody could be let through: the gate has no probe, and is looked at again in a second."""
    gate = turn.get(GATES, name) or GateRow()
    until_ms = turn.now_ms + SECOND_MS
    turn.put(GATES, replace(gate, probe="", closed_until_ms=until_ms), name)
    turn.set_timer(Timer(until_ms, GATE, name))


def open_gate(turn: Turn, name: str) -> None:
    """Let everyone pass again, and say so."""
    turn.delete(GATES, name)
    audit_gate(turn, name, before="closed", after="open")


def note_call(
    turn: Turn, row: LedgerRow, *, found: Health, reason: str, stopped: str | None
) -> list[str]:
    """Learn from a call's end what it says about the reply's gates; the gates that it opened.

    What waits in their lanes is to be let through by the caller.
    """
    noted = (
        _note_account(turn, row, found=found, reason=reason),
        *(
            _note_switch(turn, row, name, found=found, is_off=name == stopped)
            for name in switches_of(row.inbox_id, row.workspace)
        ),
    )
    return [name for name in noted if name is not None]


def _note_account(turn: Turn, row: LedgerRow, *, found: Health, reason: str) -> str | None:
    name = account_gate(row)
    gate = turn.get(GATES, name) or GateRow()
    probes = gate.probe == row.reply_key
    if gate.closed_until_ms and not probes:
        return None
    if found is Health.WELL:
        return _reopen(turn, name, gate)
    if found is Health.SICK or (found is Health.SILENT and probes):
        _close(turn, name, gate, reason=reason if found is Health.SICK else gate.reason)
    elif found is Health.FAILING:
        return _note_failure(turn, row, gate, reason=reason)
    return None


def _note_failure(turn: Turn, row: LedgerRow, gate: GateRow, *, reason: str) -> str | None:
    name = account_gate(row)
    if gate.closed_until_ms:
        if first_in_lane(turn, name, 1):
            _close(turn, name, gate, reason=reason)
            return None
        # Nobody else waits: it is one reply that fails, and its own backoff and age see to it.
        opened = _reopen(turn, name, gate)
        turn.put(GATES, GateRow(failures=1, last_failed=row.reply_key), name)
        return opened
    if gate.last_failed == row.reply_key:
        return None
    counted = replace(gate, failures=gate.failures + 1, last_failed=row.reply_key)
    if counted.failures >= FAILURES_TO_CLOSE:
        _close(turn, name, counted, reason=reason)
    else:
        turn.put(GATES, counted, name)
    return None


def _note_switch(
    turn: Turn, row: LedgerRow, name: str, *, found: Health, is_off: bool
) -> str | None:
    gate = turn.get(GATES, name) or GateRow()
    probes = gate.probe == row.reply_key
    if gate.closed_until_ms and not probes:
        return None
    if not is_off and not (probes and found is Health.SILENT):
        return _reopen(turn, name, gate)
    _close(turn, name, gate, reason="switched off" if is_off else gate.reason)
    return None


def _close(turn: Turn, name: str, gate: GateRow, *, reason: str) -> None:
    is_account = name.startswith(_ACCOUNT)
    longest_ms = ACCOUNT_PAUSE_CAP_MS if is_account else STOP_PAUSE_CAP_MS
    streak = gate.streak + 1
    until_ms = turn.now_ms + pause_ms(name, streak, longest_ms=longest_ms)
    turn.put(GATES, GateRow(closed_until_ms=until_ms, streak=streak, reason=reason), name)
    turn.set_timer(Timer(until_ms, GATE, name))
    if not gate.closed_until_ms:
        # One alarm a pause, however often it is prolonged.
        audit_gate(turn, name, before="open", after="closed", why=reason)


def _reopen(turn: Turn, name: str, gate: GateRow) -> str | None:
    if gate.closed_until_ms:
        open_gate(turn, name)
        return name
    if gate.failures:
        turn.delete(GATES, name)
    return None
