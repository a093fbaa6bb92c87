"""The records that DECIDE writes, with their headers.

Owns: their CloudEvents names.
May not: decide. `decisions` and `audit` hold no content and no address of a stranger.
"""

from functools import lru_cache
from typing import Final

from processors.core.turn import Output, Turn
from schemas.codec import to_json
from schemas.commands import AskReply, AuditEntry, Decision, DeliveryFact, Withdraw
from schemas.headers import envelope, iso_time
from schemas.topics import Topic

SOURCE: Final = "onereply:decide"
MADE: Final = "onereply.decision.made"
AUDITED: Final = "onereply.audit.entry"
ORDERED: Final[dict[type, str]] = {
    AskReply: "onereply.command.ask-reply",
    DeliveryFact: "onereply.command.delivery-fact",
    Withdraw: "onereply.command.withdraw",
}

_NS_PER_MS: Final = 1_000_000


@lru_cache(maxsize=8)
def _time(now_ms: int) -> str:
    # A batch has one now; spelling it out once a record would cost more than encoding the record.
    return iso_time(now_ms * _NS_PER_MS)


def order(given: AskReply | DeliveryFact | Withdraw, turn: Turn, *, ce_id: str) -> Output:
    """An order for SEND, without a mark."""
    headers = envelope(ORDERED[type(given)], ce_id, source=SOURCE, time=_time(turn.now_ms))
    return Output(Topic.REPLY_COMMANDS, given.inbox_id, to_json(given), headers)


def emit_decision(decision: Decision, turn: Turn, *, before: str | None) -> None:
    """Write what was decided, and that it was."""
    key, now = decision.reply_key, _time(turn.now_ms)
    headers = envelope(MADE, key, source=SOURCE, time=now)
    turn.emit(Topic.DECISIONS, key, to_json(decision), headers=headers)
    entry = AuditEntry(
        subject=key,
        what="decision",
        at_ms=turn.now_ms,
        by="decide",
        before=before,
        after=decision.outcome,
        why=decision.rule,
    )
    headers = envelope(AUDITED, f"{key}/{turn.now_ms}", source=SOURCE, time=now)
    turn.emit(Topic.AUDIT, key, to_json(entry), headers=headers)
