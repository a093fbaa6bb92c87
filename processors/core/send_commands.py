"""What each command does to its reply, once the table has allowed it.

Owns: how a command becomes a cue, and what it writes besides the ledger's move.
May not: allow anything; whoever calls has looked into the table.
"""

from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any, Final

from msgspec import Raw
from msgspec.structs import replace

from processors.core.ledger import Cue
from processors.core.ledger_rows import ASKS, REQUESTS, TEXTS, AskRow, LedgerRow, State, TextRow
from processors.core.posting import start_posting
from processors.core.send_moves import Work, move, open_reply, shift
from processors.core.send_outputs import emit_sent_fact
from processors.core.turn import Turn
from schemas.commands import (
    AnyCommand,
    ApproveReply,
    AskReply,
    DenyReply,
    ReleaseReply,
    SendReply,
    SettleReply,
    Withdraw,
)
from schemas.errors import Refused
from schemas.events import Where
from schemas.keys import framed

ERASED: Final = "erased"
OUTCOMES: Final = frozenset({"send", "hold", "draft"})


def cue_of(command: AnyCommand, row: LedgerRow | None, *, is_redriven: bool) -> Cue:
    """The cue that a command is, for where its reply stands."""
    match command:
        case AskReply():
            return Cue.REDRIVEN_ASK if is_redriven and row is not None else Cue.ASK
        case SendReply():
            return _text_cue(command, row, is_redriven=is_redriven)
        case SettleReply():
            return Cue.SETTLE_SENT if command.verdict == "sent" else Cue.SETTLE_RETRY
        case Withdraw():
            return Cue.ERASE if command.reason == ERASED else Cue.WITHDRAW
        case _:
            return _PLAIN_CUES[type(command)]


def text_hash(text: str, html: str | None) -> str:
    """What an approval names, so that nobody approves a text that they have not seen."""
    return sha256(framed(text, *(() if html is None else (html,)))).hexdigest()


def _text_cue(command: SendReply, row: LedgerRow | None, *, is_redriven: bool) -> Cue:
    if is_redriven and row is not None and row.state is State.GIVEN_UP:
        return Cue.REDRIVEN_TEXT
    if row is not None and row.outcome == "draft":
        return Cue.TEXT_AS_DRAFT
    is_held = command.needs_approval or (row is not None and row.outcome == "hold")
    return Cue.TEXT_TO_REVIEW if is_held else Cue.TEXT


def _ask(work: Work, _row: LedgerRow | None, command: AskReply) -> None:
    if command.provider not in work.policy.contracts:
        raise Refused(f"no replies through provider {command.provider}")
    if command.outcome not in OUTCOMES:
        raise Refused(f"an ask's outcome is not {command.outcome}")
    work.turn.put(ASKS, AskRow(command=command, origin=_where(work.turn)), command.reply_key)
    open_reply(work, command)


def _text(work: Work, row: LedgerRow, command: SendReply) -> None:
    cue = _text_cue(command, row, is_redriven=False)
    after = move(work, _with_text(work.turn, row, command), cue, by="write", why=_why_held(cue))
    if after.state is State.DUE:
        start_posting(work, after)


def _approve(work: Work, row: LedgerRow, command: ApproveReply) -> None:
    start_posting(work, move(work, row, Cue.APPROVE, by=command.by, why=command.why or ""))


def _deny(work: Work, row: LedgerRow, command: DenyReply) -> None:
    move(work, row, Cue.DENY, by=command.by, why=command.why or "denied")


def _release(work: Work, row: LedgerRow, command: ReleaseReply) -> None:
    move(work, row, Cue.RELEASE, by=command.by)


def _settle_sent(work: Work, row: LedgerRow, command: SettleReply) -> None:
    found = replace(row, is_unsure=False, provider_message_id=command.provider_message_id)
    emit_sent_fact(work.turn, found)
    move(work, found, Cue.SETTLE_SENT, by=command.by, why="settled by hand")


def _settle_retry(work: Work, row: LedgerRow, command: SettleReply) -> None:
    # The person says that nothing was sent, so nothing is uncertain and our key is new again.
    sure = replace(row, is_unsure=False, must_look=False, conflicts=0, lookups=0)
    start_posting(work, move(work, sure, Cue.SETTLE_RETRY, by=command.by))


def _withdraw(work: Work, row: LedgerRow, command: Withdraw) -> None:
    if row.state is State.POSTING:
        shift(work, replace(row, withdrawn=command.reason), Cue.WITHDRAW)
    else:
        move(work, row, Cue.WITHDRAW, by="decide", why=command.reason)


def _redriven_ask(work: Work, row: LedgerRow, command: AskReply) -> None:
    if row.is_erased:
        raise Refused("what the reply answers was erased")
    work.turn.put(ASKS, AskRow(command=command, origin=_where(work.turn)), row.reply_key)
    move(work, replace(row, is_slow=False, is_swept=False), Cue.REDRIVEN_ASK, by="operator")


def _redriven_text(work: Work, row: LedgerRow, command: SendReply) -> None:
    turn = work.turn
    if turn.get(ASKS, row.reply_key) is None:
        raise Refused("what the reply answers is no longer kept")
    if row.is_rejected:
        # The provider would refuse the same bytes again; a given-up reply of any other kind goes
        # with the bytes that it had, whatever the redriven record says.
        row = replace(_with_text(turn, row, command), is_rejected=False)
        turn.delete(REQUESTS, row.reply_key)
    start_posting(work, move(work, row, Cue.REDRIVEN_TEXT, by="operator"))


def _with_text(turn: Turn, row: LedgerRow, command: SendReply) -> LedgerRow:
    text = TextRow(
        text=command.text,
        html=command.html,
        ask_number=command.ask_number,
        origin=_where(turn),
        needs_approval=command.needs_approval,
        summary=command.summary,
        evidence=bytes(command.evidence) if isinstance(command.evidence, Raw) else None,
    )
    turn.put(TEXTS, text, row.reply_key)
    return replace(row, text_hash=text_hash(command.text, command.html))


def _why_held(cue: Cue) -> str:
    return {Cue.TEXT_TO_REVIEW: "review", Cue.TEXT_AS_DRAFT: "draft"}.get(cue, "")


def _where(turn: Turn) -> Where:
    record = turn.record
    assert record is not None  # noqa: S101  # commands are records
    return Where(topic=record.topic, partition=record.partition, offset=record.offset)


_PLAIN_CUES: Final[Mapping[type, Cue]] = {
    ApproveReply: Cue.APPROVE,
    DenyReply: Cue.DENY,
    ReleaseReply: Cue.RELEASE,
}
HANDLERS: Final[Mapping[Cue, Callable[[Work, Any, Any], None]]] = {
    Cue.ASK: _ask,
    Cue.TEXT: _text,
    Cue.TEXT_TO_REVIEW: _text,
    Cue.TEXT_AS_DRAFT: _text,
    Cue.APPROVE: _approve,
    Cue.DENY: _deny,
    Cue.RELEASE: _release,
    Cue.SETTLE_SENT: _settle_sent,
    Cue.SETTLE_RETRY: _settle_retry,
    Cue.WITHDRAW: _withdraw,
    Cue.ERASE: _withdraw,
    Cue.REDRIVEN_ASK: _redriven_ask,
    Cue.REDRIVEN_TEXT: _redriven_text,
}
