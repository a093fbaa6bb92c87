"""What SEND tells the world: receipts, audit entries, facts, writer requests, dead letters.

Owns: the records that SEND writes besides its state, and their headers and sizes.
May not: decide. Receipts and audit entries hold no content.
"""

from typing import Final

import msgspec

from processors.core.ledger_rows import ASKS, HELD, SAID, TEXTS, LedgerRow, State
from processors.core.thread_log import MOST_MESSAGES, MOST_TEXT_CHARS, US
from processors.core.turn import Output, Turn
from schemas.codec import to_json
from schemas.commands import AskReply, AuditEntry, Receipt, Said, SendReply, WriteRequest
from schemas.events import Kind, Position, ThreadEvent, Where
from schemas.headers import (
    DEAD_ATTEMPT,
    DEAD_ERROR,
    DEAD_OFFSET,
    DEAD_PARTITION,
    DEAD_REASON,
    DEAD_STAGE,
    DEAD_TOPIC,
    Headers,
    envelope,
    iso_time,
)
from schemas.keys import EventId, EventKey, MessageId, SourceName, canonical_id
from schemas.topics import THREAD_CONTEXT_LIMIT_BYTES, Topic

STAGE: Final = "send"
# A colon cannot stand in the name of a configured source, so no event from outside has our key.
OUR_SOURCE: Final = SourceName("onereply:send")
# What the fact repeats of a reply: an event is at most 512 KiB, and JSON may spell a character
# with six bytes. The mail itself is not cut.
MOST_FACT_CHARS: Final = 64 * 1024

_MS_NS: Final = 1_000_000


def emit_receipt(turn: Turn, row: LedgerRow) -> None:
    """Say what came of the reply so far: sent, refused, held, uncertain or given up."""
    state = _receipt_state(row.state)
    receipt = Receipt(
        reply_key=row.reply_key,
        inbox_id=row.inbox_id,
        message_id=row.message_id,
        state=state,
        at_ms=turn.now_ms,
        attempts=row.attempts,
        hold_number=row.hold_number,
        text_hash=row.text_hash or None,
        provider_message_id=row.provider_message_id,
        provider_thread_id=row.provider_thread_id,
        reason=row.reason or None,
    )
    name = f"{row.reply_key}/{state}/{row.hold_number}/{row.claims}"
    headers = _headers(turn, f"onereply.receipt.{state}", name, subject=row.reply_key)
    turn.emit(Topic.REPLY_RECEIPTS, row.reply_key, to_json(receipt), headers=headers)


def emit_audit(turn: Turn, row: LedgerRow, *, before: str | None, by: str, why: str) -> None:
    """Leave a trace of one move of the ledger."""
    _audit(
        turn,
        AuditEntry(
            subject=row.reply_key,
            what="reply moved",
            at_ms=turn.now_ms,
            by=by,
            before=before,
            after=row.state,
            why=why or None,
        ),
    )


def audit_gate(turn: Turn, gate: str, *, before: str, after: str, why: str = "") -> None:
    """The alarm: replies wait at this gate from now on, or go on."""
    _audit(
        turn,
        AuditEntry(
            subject=gate,
            what="gate moved",
            at_ms=turn.now_ms,
            by=STAGE,
            before=before,
            after=after,
            why=why or None,
        ),
    )


def emit_writer_request(turn: Turn, row: LedgerRow, ask: AskReply) -> None:
    """Ask WRITE for a text, with the thread as it is now: the ask's log and what we said since."""
    since = [said for _, said in turn.rows(SAID, row.inbox_id, row.thread_key)]
    log, is_cut = merged_log(ask.log, since)
    request = WriteRequest(
        reply_key=row.reply_key,
        ask_number=row.ask_number,
        inbox_id=row.inbox_id,
        thread_key=row.thread_key,
        message_id=row.message_id,
        workspace=row.workspace,
        event=ask.event,
        log=log,
        is_log_truncated=ask.is_log_truncated or is_cut,
    )
    headers = _headers(
        turn,
        "onereply.writer.asked",
        f"{row.reply_key}/ask/{row.ask_number}",
        subject=row.reply_key,
    )
    # Never under a mark: a replayed erasure may free the thread, and the text that is asked for
    # then is no part of a replay.
    turn.emit_marked(Output(Topic.WRITER_REQUESTS, row.reply_key, to_json(request), headers))


def merged_log(log: tuple[Said, ...], since: list[Said]) -> tuple[tuple[Said, ...], bool]:
    """Both logs as one, in position order, and whether the oldest had to go for want of room."""
    known = {said.message_id for said in log} | {said.position for said in log}
    fresh = [
        said
        for said in since
        if said.position not in known and (said.message_id is None or said.message_id not in known)
    ]
    whole = sorted((*log, *fresh), key=lambda each: each.position)
    room, kept = THREAD_CONTEXT_LIMIT_BYTES - len(b"[]"), list[Said]()
    for said in reversed(whole):
        room -= len(to_json(said)) + len(b",")
        if room < 0:
            break
        kept.append(said)
    return tuple(reversed(kept)), len(kept) < len(whole)


def emit_sent_fact(turn: Turn, row: LedgerRow) -> None:
    """Tell the thread that we answered, and keep it for the next writer of the thread."""
    text = None if row.is_erased else turn.get(TEXTS, row.reply_key)
    words = None if text is None else text.text
    fact = _sent_fact(row, words, now_ms=turn.now_ms)
    said = Said(
        role=US,
        position=Position(occurred_at_ns=fact.occurred_at_ns, tie=fact.event_id),
        message_id=fact.message_id,
        sender=row.inbox_id,
        text=words and words[:MOST_TEXT_CHARS],
        is_truncated=words is not None and len(words) > MOST_TEXT_CHARS,
    )
    _remember_saying(turn, row, said)
    headers = envelope(
        Kind.REPLY_SENT,
        fact.event_id,
        source=OUR_SOURCE,
        subject=row.inbox_id,
        time=iso_time(fact.occurred_at_ns),
    )
    turn.emit(Topic.THREAD_EVENTS, row.inbox_id, to_json(fact), headers=headers)


def _sent_fact(row: LedgerRow, words: str | None, *, now_ms: int) -> ThreadEvent:
    return ThreadEvent(
        kind=Kind.REPLY_SENT,
        event_key=EventKey(f"{OUR_SOURCE}/{row.reply_key}"),
        event_id=EventId(row.reply_key),
        source=OUR_SOURCE,
        provider=row.provider,
        workspace=row.workspace,
        inbox_id=row.inbox_id,
        occurred_at_ns=now_ms * _MS_NS,
        received_at_ms=now_ms,
        thread_key=row.thread_key,
        message_id=_our_id(row),
        provider_message_id=row.provider_message_id,
        provider_thread_id=row.provider_thread_id,
        parents=(row.message_id,),
        sender=row.inbox_id,
        text=words and words[:MOST_FACT_CHARS],
        reply_key=row.reply_key,
        is_truncated=words is not None and len(words) > MOST_FACT_CHARS,
    )


def _remember_saying(turn: Turn, row: LedgerRow, said: Said) -> None:
    thread = (row.inbox_id, row.thread_key)
    # No more than DECIDE's own log has; the oldest goes.
    oldest = [rest for rest, _ in turn.rows(SAID, *thread)][: 1 - MOST_MESSAGES]
    for rest in oldest:
        turn.state.put(SAID.key(*thread) + rest, None)
    turn.put(SAID, said, *thread, turn.now_ms, row.reply_key)


def emit_dead_letter(turn: Turn, row: LedgerRow) -> None:
    """Set aside the command that the reply was given up on; redriving it opens the reply again.

    That is the text, or the ask where no text ever came.
    """
    value, origin = _given_up_on(turn, row)
    ours = {
        DEAD_TOPIC: origin.topic,
        DEAD_PARTITION: str(origin.partition),
        DEAD_OFFSET: str(origin.offset),
        DEAD_STAGE: STAGE,
        DEAD_ERROR: "GivenUp" if row.state not in HELD else "OutcomeUnknown",
        DEAD_REASON: row.reason,
        DEAD_ATTEMPT: str(max(1, row.attempts)),
    }
    headers = _headers(
        turn, "onereply.reply.given-up", f"{row.reply_key}/dead/{row.claims}", subject=row.reply_key
    )
    dead = tuple((name, text.encode()) for name, text in ours.items())
    turn.emit(Topic.DEAD_LETTERS, row.inbox_id, value, headers=(*headers, *dead))


def _given_up_on(turn: Turn, row: LedgerRow) -> tuple[bytes, Where]:
    if (text := turn.get(TEXTS, row.reply_key)) is not None:
        evidence = msgspec.UNSET if text.evidence is None else msgspec.Raw(text.evidence)
        command = SendReply(
            reply_key=row.reply_key,
            inbox_id=row.inbox_id,
            ask_number=text.ask_number,
            text=text.text,
            html=text.html,
            needs_approval=text.needs_approval,
            summary=text.summary,
            evidence=evidence,
        )
        return to_json(command), text.origin
    ask = turn.get(ASKS, row.reply_key)
    assert ask is not None  # noqa: S101  # content is swept only after a reply is settled
    return to_json(ask.command), ask.origin


def _receipt_state(state: State) -> str:
    if state is State.HELD_UNCERTAIN:
        return "uncertain"
    return "held" if state in HELD else str(state)


def _our_id(row: LedgerRow) -> MessageId | None:
    found = canonical_id(row.provider_message_id or "")
    return None if found is None else MessageId(found)


def _audit(turn: Turn, entry: AuditEntry) -> None:
    name = f"{entry.subject}/{entry.after}/{turn.now_ms}"
    headers = _headers(turn, "onereply.audit.entry", name, subject=entry.subject)
    turn.emit(Topic.AUDIT, entry.subject, to_json(entry), headers=headers)


def _headers(turn: Turn, kind: str, name: str, *, subject: str) -> Headers:
    return envelope(
        kind, name, source=OUR_SOURCE, subject=subject, time=iso_time(turn.now_ms * _MS_NS)
    )
