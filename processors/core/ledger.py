"""The ledger's transition table: what may come to a reply, and what it makes of it.

Owns: the states of a reply, the cues that move it, and which state follows, as data.
May not: carry a move out. A pair that is not listed is ignored, whoever sends it.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Any, Final, NamedTuple

from processors.core.ledger_rows import LedgerRow, State

# What a move asks of the row and of the command that orders it.
Need = Callable[[LedgerRow, Any], bool]


class Cue(StrEnum):
    """What comes: first the commands of others, then what SEND itself sees."""

    ASK = "ask"
    TEXT = "text"
    TEXT_TO_REVIEW = "text-to-review"
    TEXT_AS_DRAFT = "text-as-draft"
    APPROVE = "approve"
    DENY = "deny"
    RELEASE = "release"
    SETTLE_SENT = "settle-sent"
    SETTLE_RETRY = "settle-retry"
    WITHDRAW = "withdraw"
    ERASE = "erase"
    REDRIVEN_ASK = "redriven-ask"
    REDRIVEN_TEXT = "redriven-text"

    TURN = "turn"
    NO_TEXT = "no-text"
    EXPIRED = "expired"
    CLAIM = "claim"
    ACCEPTED = "accepted"
    LATER = "later"
    UNCERTAIN = "uncertain"
    REJECTED = "rejected"
    TOO_OLD = "too-old"
    WITHDRAWN_MEANWHILE = "withdrawn-meanwhile"


COMMANDS: Final = frozenset(
    {
        Cue.ASK,
        Cue.TEXT,
        Cue.TEXT_TO_REVIEW,
        Cue.TEXT_AS_DRAFT,
        Cue.APPROVE,
        Cue.DENY,
        Cue.RELEASE,
        Cue.SETTLE_SENT,
        Cue.SETTLE_RETRY,
        Cue.WITHDRAW,
        Cue.ERASE,
        Cue.REDRIVEN_ASK,
        Cue.REDRIVEN_TEXT,
    }
)


class Move(NamedTuple):
    """The state that follows, if every need is met."""

    to: State
    needs: tuple[Need, ...] = ()


def names_hold(row: LedgerRow, command: Any) -> bool:
    """The command means this hold, and not one that the reply left before."""
    return bool(command.hold_number == row.hold_number)


def names_text(row: LedgerRow, command: Any) -> bool:
    """Whoever decided saw the text that would be sent."""
    return bool(command.text_hash == row.text_hash)


def never_attempted(row: LedgerRow, _command: Any) -> bool:
    """No call for this reply can have had an effect."""
    return not row.was_attempted


def outcome_known(row: LedgerRow, _command: Any) -> bool:
    """Every attempt so far has an answer, and none of them was a yes."""
    return not row.is_unsure


def has_text(row: LedgerRow, _command: Any) -> bool:
    """A text came before the reply was given up."""
    return row.text_hash != ""


def lacks_text(row: LedgerRow, _command: Any) -> bool:
    """The reply was given up because no text came."""
    return row.text_hash == ""


_DECIDED: Final = (names_hold, names_text)
_HELD: Final = (names_hold,)

Moves = dict[tuple[State | None, Cue], Move]

# Erasing withdraws a reply like any other withdrawal, and counts in a replay, too.
_ERASURES: Final[Moves] = {
    (State.QUEUED, Cue.ERASE): Move(State.REFUSED),
    (State.ASKED, Cue.ERASE): Move(State.REFUSED),
    (State.HELD_REVIEW, Cue.ERASE): Move(State.REFUSED),
    (State.HELD_DRAFT, Cue.ERASE): Move(State.REFUSED),
    (State.HELD_REPLAY, Cue.ERASE): Move(State.REFUSED),
    (State.DUE, Cue.ERASE): Move(State.REFUSED, (never_attempted,)),
    (State.POSTING, Cue.ERASE): Move(State.POSTING),
}

# None: the ledger does not know the reply.
MOVES: Final[Moves] = {
    **_ERASURES,
    (None, Cue.ASK): Move(State.QUEUED),
    (State.QUEUED, Cue.TURN): Move(State.ASKED),
    (State.QUEUED, Cue.WITHDRAW): Move(State.REFUSED),
    (State.ASKED, Cue.TEXT): Move(State.DUE),
    (State.ASKED, Cue.TEXT_TO_REVIEW): Move(State.HELD_REVIEW),
    (State.ASKED, Cue.TEXT_AS_DRAFT): Move(State.HELD_DRAFT),
    (State.ASKED, Cue.NO_TEXT): Move(State.ASKED),
    (State.ASKED, Cue.TOO_OLD): Move(State.GIVEN_UP),
    (State.ASKED, Cue.WITHDRAW): Move(State.REFUSED),
    (State.HELD_REVIEW, Cue.APPROVE): Move(State.DUE, _DECIDED),
    (State.HELD_REVIEW, Cue.DENY): Move(State.REFUSED, _DECIDED),
    (State.HELD_REVIEW, Cue.EXPIRED): Move(State.REFUSED),
    (State.HELD_REVIEW, Cue.WITHDRAW): Move(State.REFUSED),
    (State.HELD_DRAFT, Cue.APPROVE): Move(State.DUE, _DECIDED),
    (State.HELD_DRAFT, Cue.DENY): Move(State.REFUSED, _DECIDED),
    (State.HELD_DRAFT, Cue.EXPIRED): Move(State.REFUSED),
    (State.HELD_DRAFT, Cue.WITHDRAW): Move(State.REFUSED),
    (State.HELD_REPLAY, Cue.RELEASE): Move(State.QUEUED, _HELD),
    (State.HELD_REPLAY, Cue.WITHDRAW): Move(State.REFUSED),
    # A mail may be out there: only a person who looked can settle it.
    (State.HELD_UNCERTAIN, Cue.SETTLE_SENT): Move(State.SENT, _HELD),
    (State.HELD_UNCERTAIN, Cue.SETTLE_RETRY): Move(State.DUE, _HELD),
    (State.DUE, Cue.CLAIM): Move(State.POSTING),
    (State.DUE, Cue.UNCERTAIN): Move(State.HELD_UNCERTAIN),
    (State.DUE, Cue.TOO_OLD): Move(State.GIVEN_UP),
    (State.DUE, Cue.WITHDRAW): Move(State.REFUSED, (never_attempted,)),
    (State.POSTING, Cue.ACCEPTED): Move(State.SENT),
    (State.POSTING, Cue.LATER): Move(State.DUE),
    (State.POSTING, Cue.UNCERTAIN): Move(State.HELD_UNCERTAIN),
    (State.POSTING, Cue.REJECTED): Move(State.GIVEN_UP),
    # A withdrawal that comes while a call is under way counts if the call turns out not to have
    # been made.
    (State.POSTING, Cue.WITHDRAW): Move(State.POSTING),
    (State.POSTING, Cue.WITHDRAWN_MEANWHILE): Move(State.REFUSED, (never_attempted,)),
    (State.GIVEN_UP, Cue.REDRIVEN_TEXT): Move(State.DUE, (outcome_known, has_text)),
    (State.GIVEN_UP, Cue.REDRIVEN_ASK): Move(State.QUEUED, (outcome_known, lacks_text)),
}

# What a record does that is part of a replay: it may remind of a reply, and never sends one.
REPLAY_MOVES: Final[Moves] = {
    **_ERASURES,
    (None, Cue.ASK): Move(State.HELD_REPLAY),
}


def next_state(row: LedgerRow | None, cue: Cue, *, command: Any = None) -> State | None:
    """The state that follows from a live cue, or None where it is to be ignored."""
    return _follow(MOVES, row, cue, command=command)


def next_state_in_replay(row: LedgerRow | None, cue: Cue) -> State | None:
    """The state that follows from a cue under a replay mark, or None: it is to be ignored."""
    return _follow(REPLAY_MOVES, row, cue, command=None)


def _follow(
    moves: Moves,
    row: LedgerRow | None,
    cue: Cue,
    *,
    command: Any,
) -> State | None:
    move = moves.get((None if row is None else row.state, cue))
    if move is None:
        return None
    if row is not None and not all(need(row, command) for need in move.needs):
        return None
    return move.to
