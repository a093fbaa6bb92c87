"""Announced mails are read from their provider, each once.

The answer goes into `inbound-events`, where everything from outside is: a replay of DEDUPE finds it
there and fetches nothing again.

F1: the claim (row, attempt id, lease timer) is written, and the call is ordered. F2 is the call, in
the shell, once F1 is committed. F3: the answer goes into `inbound-events` and the row is settled,
together. A call is harmless to repeat, so whatever is lost between them is asked again.

Owns: who is asked, how often, and when the asking ends.
May not: call anybody, or read the answer: DEDUPE does, like any other body.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from processors.core.fetch_calls import Found, Never, NotNow, NotThere, Outcome, ReadCall
from processors.core.retry import backoff_ms, told_ms
from processors.core.tables import Row, Table
from processors.core.turn import MAX_VALUE_BYTES, Effect, Output, Record, Result, Timer, Turn
from schemas.codec import to_json
from schemas.commands import AuditEntry
from schemas.directory import Directory
from schemas.errors import Refused
from schemas.events import FETCH_REQUEST, ThreadEvent
from schemas.headers import PROOF, PROVIDER, RECEIVED_AT, Headers, envelope
from schemas.keys import (
    EventId,
    EventKey,
    InboxId,
    MessageId,
    SourceName,
    canonical_id,
    fetched_key,
)
from schemas.topics import Topic

STAGE: Final = "fetch"
READ: Final = "read"

LEASE: Final = "lease"
RETRY: Final = "retry"
FORGET: Final = "forget"

# The lease timer looks this much later than the lease ends: a call that made it in time is heard.
LEASE_GRACE_MS: Final = 1_000
# Settled rows stay as long as inbound-events holds the answer that they stand for.
KEPT_MS: Final = 30 * 24 * 3600 * 1000

PENDING: Final = "pending"
DONE: Final = "done"
UNAVAILABLE: Final = "unavailable"


class Ask(Row, frozen=True, kw_only=True, array_like=True):
    """All that is needed to ask again, and to put the answer in. `offset` is its request's."""

    offset: int
    source: SourceName
    provider: str
    account: str
    inbox_id: InboxId
    message_id: MessageId
    spelling: str
    received_at_ms: int
    mark: str | None = None


class FetchRow(Row, frozen=True, kw_only=True, array_like=True):
    """One announced message. `since_ms`: first asked, or settled, at. `due_ms`: its timer's."""

    state: str
    since_ms: int
    due_ms: int = 0
    attempts: int = 0
    attempt: str = ""
    ask: Ask | None = None


FETCHES: Final = Table(0x10, FetchRow)


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long a claim lives, and how long a message is asked for.

    `not_there_ms`: one that the provider does not know. `give_up_ms`: one that it says nothing of.
    """

    lease_ms: int
    not_there_ms: int
    give_up_ms: int


def name_of(event: ThreadEvent) -> EventKey:
    """The name of an announced message's fetch, under which its answer goes on.

    Raises Refused for an announcement that names no message.
    """
    if event.message_id is None or event.provider_message_id is None:
        raise Refused("the announcement names no message that could be read")
    return fetched_key(event.source, event.inbox_id, event.message_id)


def keys(record: Record) -> Sequence[bytes]:
    """The rows that the record will need. Raises like the decision itself."""
    if record.value is None:
        return ()
    return (FETCHES.key(name_of(FETCH_REQUEST.decode(record.value).event)),)


class Fetch:
    """The decisions of the stage."""

    def __init__(self, directory: Directory, patience: Patience) -> None:
        self._accounts = {
            canonical_id(name): inbox.account for name, inbox in directory.inboxes.items()
        }
        self._patience = patience

    def on_record(self, record: Record, turn: Turn) -> None:
        """Have an announced message read, unless it was or is being read."""
        if record.value is None:
            return
        event = FETCH_REQUEST.decode(record.value).event
        name = name_of(event)
        row = turn.get(FETCHES, name)
        # What could not be had may be there when it is announced anew; a replay announces nothing.
        if row is not None and (row.state != UNAVAILABLE or record.mark is not None):
            return
        ask = _ask(event, record, account=self._accounts.get(event.inbox_id))
        asked = FetchRow(state=PENDING, since_ms=turn.now_ms, ask=ask)
        if ask.account:
            self._claim(name, turn, asked, ask=ask)
        else:
            _give_up(name, turn, ask, reason="the inbox has no account")

    def on_timer(self, timer: Timer, turn: Turn) -> None:
        """Ask again, note that a call was lost, or forget, as the row's own timer says."""
        name = EventKey(timer.id)
        row = turn.get(FETCHES, name)
        if row is None or row.due_ms != timer.due_ms:
            return
        if row.ask is None:
            turn.delete(FETCHES, name)
        elif row.attempt:
            self._later(name, turn, row, outcome=NotNow(reason="nothing was heard of the call"))
        else:
            self._claim(name, turn, row, ask=row.ask)

    def on_result(self, result: Result, turn: Turn) -> None:
        """Settle or ask later, if this is the attempt that the row names."""
        name = EventKey(result.id)
        row = turn.get(FETCHES, name)
        if row is None or row.ask is None or row.attempt != result.attempt:
            return
        turn.cancel_timer(Timer(row.due_ms, LEASE, name))
        outcome: Outcome = result.outcome
        if isinstance(outcome, Found):
            _take(name, turn, row.ask, body=outcome.body)
        elif isinstance(outcome, Never):
            _give_up(name, turn, row.ask, reason=outcome.reason)
        else:
            self._later(name, turn, row, outcome=outcome)

    def _claim(self, name: EventKey, turn: Turn, row: FetchRow, *, ask: Ask) -> None:
        attempts = row.attempts + 1
        # Offsets do not repeat and attempts only grow: no two claims of a message share an id.
        attempt = f"{ask.offset}-{attempts}"
        due_ms = turn.now_ms + self._patience.lease_ms + LEASE_GRACE_MS
        claimed = replace(row, due_ms=due_ms, attempts=attempts, attempt=attempt)
        turn.put(FETCHES, claimed, name)  # F1
        turn.set_timer(Timer(due_ms, LEASE, name))
        call = _call(name, ask)
        turn.start(Effect(READ, name, attempt, call, self._patience.lease_ms))  # F2

    def _later(
        self, name: EventKey, turn: Turn, row: FetchRow, *, outcome: NotNow | NotThere
    ) -> None:
        is_there = isinstance(outcome, NotNow)
        limit_ms = self._patience.give_up_ms if is_there else self._patience.not_there_ms
        if row.ask is not None and turn.now_ms - row.since_ms >= limit_ms:
            _give_up(name, turn, row.ask, reason=outcome.reason)
            return
        told = told_ms(outcome.retry_after, now_ms=turn.now_ms)
        due_ms = turn.now_ms + (told or backoff_ms(name, row.attempts))
        turn.put(FETCHES, replace(row, due_ms=due_ms, attempt=""), name)
        turn.set_timer(Timer(due_ms, RETRY, name))


def _ask(event: ThreadEvent, record: Record, *, account: str | None) -> Ask:
    return Ask(
        offset=record.offset,
        source=event.source,
        provider=event.provider,
        account=account or "",
        inbox_id=event.inbox_id,
        message_id=MessageId(event.message_id or ""),
        spelling=event.provider_message_id or "",
        received_at_ms=event.received_at_ms,
        mark=record.mark,
    )


def _call(name: EventKey, ask: Ask) -> ReadCall:
    return ReadCall(
        provider=ask.provider,
        account=ask.account,
        inbox_id=ask.inbox_id,
        message_id=ask.message_id,
        spelling=ask.spelling,
        event_id=EventId(name.partition("/")[2]),
    )


def _take(name: EventKey, turn: Turn, ask: Ask, *, body: bytes) -> None:
    if len(body) > MAX_VALUE_BYTES:
        _give_up(name, turn, ask, reason=f"an answer of {len(body)} bytes")
        return
    output = Output(Topic.INBOUND_EVENTS, name, body, _headers(name, ask), ask.mark)
    turn.emit_marked(output)  # F3
    _settle(name, turn, state=DONE)


def _headers(name: EventKey, ask: Ask) -> Headers:
    """What the door would have written; received when the announcement was, to keep its place."""
    source, subject = f"/sources/{ask.source}", ask.inbox_id
    ce_id = name.partition("/")[2]
    return (
        *envelope("message.received", ce_id, source=source, subject=subject),
        (RECEIVED_AT, b"%d" % ask.received_at_ms),
        (PROVIDER, ask.provider.encode()),
        (PROOF, b"api"),
    )


def _give_up(name: EventKey, turn: Turn, ask: Ask, *, reason: str) -> None:
    """Leave the message unread: its announcement goes on without it, and nobody answers that."""
    entry = AuditEntry(
        subject=name,
        what="announced mail not read",
        at_ms=turn.now_ms,
        by=STAGE,
        before=PENDING,
        after=UNAVAILABLE,
        why=reason,
    )
    headers = envelope("audit.entry", f"{name}/{turn.now_ms}")
    turn.emit_marked(Output(Topic.AUDIT, name, to_json(entry), headers, ask.mark))
    _settle(name, turn, state=UNAVAILABLE)


def _settle(name: EventKey, turn: Turn, *, state: str) -> None:
    due_ms = turn.now_ms + KEPT_MS
    turn.put(FETCHES, FetchRow(state=state, since_ms=turn.now_ms, due_ms=due_ms), name)
    turn.set_timer(Timer(due_ms, FORGET, name))
