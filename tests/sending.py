"""SEND over a dict, for tests: commands in, calls out, answers back, a clock moved by hand."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import msgspec

from processors.core.ledger_rows import LEDGER, LedgerRow
from processors.core.outcomes import Answer
from processors.core.send import on_record, on_result, on_timer
from processors.core.send_moves import Policy
from processors.core.turn import Effect, Output, Result, Timer
from schemas.codec import Codec, to_json
from schemas.commands import (
    RECEIPT,
    WRITE_REQUEST,
    AnyCommand,
    ApproveReply,
    AskReply,
    DenyReply,
    Receipt,
    ReleaseReply,
    SendReply,
    SettleReply,
    WriteRequest,
)
from schemas.events import Position
from schemas.keys import InboxId, MessageId, ReplyKey, ThreadKey
from schemas.keys import reply_key as reply_key_of
from schemas.topics import Topic
from tests.thread_events import a_thread_event
from tests.turns import NOW_MS, Desk, RecordT, told

INBOX = InboxId("support@inbox.example")
SECOND_MS = 1_000
MINUTE_MS = 60 * SECOND_MS
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS

POLICY = Policy(
    writer_timeout_ms=5 * MINUTE_MS,
    give_up_after_ms=DAY_MS,
    approval_expiry_ms=7 * DAY_MS,
    lease_ms=15 * SECOND_MS,
    calls_at_once=4,
)
SENT = Answer(status=200, message_id="<r1@inbox.example>", thread_id="thd_1")
SERVER_ERROR = Answer(status=503)


def key_of(name: str) -> ReplyKey:
    """The reply key of the message `<name@customer.example>`."""
    return reply_key_of(INBOX, MessageId(f"{name}@customer.example"))


def an_ask(name: str = "m1", **differences: Any) -> AskReply:
    """An ask for the reply to the message of that name, in thread thd_1."""
    given: dict[str, Any] = {"nth": 0, "thread": "thd_1"} | differences
    thread, nth = given.pop("thread"), given.pop("nth")
    message_id = MessageId(f"{name}@customer.example")
    position = Position(occurred_at_ns=NOW_MS * 1_000_000 + nth, tie=message_id)
    event = a_thread_event(
        f"evt_{name}",
        inbox_id=INBOX,
        occurred_at_ns=position.occurred_at_ns,
        thread_key=ThreadKey(thread),
        message_id=message_id,
        provider_message_id=f"<{message_id}>",
        provider_thread_id=thread,
        text="How much is it?",
    )
    ask = AskReply(
        reply_key=reply_key_of(INBOX, message_id),
        inbox_id=INBOX,
        outcome="send",
        rule="route",
        thread_key=ThreadKey(thread),
        message_id=message_id,
        provider="agentmail",
        workspace="acme",
        account="main",
        position=position,
        event=event,
    )
    return msgspec.structs.replace(ask, **given)


def a_text(name: str = "m1", **differences: Any) -> SendReply:
    """The text of that reply."""
    given: dict[str, Any] = {"ask_number": 1, "text": f"Answer to {name}"} | differences
    return SendReply(reply_key=key_of(name), inbox_id=INBOX, **given)


class Sender:
    """One partition of SEND. `calls` are under way until they are answered or lost."""

    def __init__(self, policy: Policy = POLICY) -> None:
        self.desk = Desk()
        self.policy = policy
        self.calls: list[Effect] = []
        self.outputs: list[Output] = []

    # -- what comes

    def give(
        self,
        command: AnyCommand,
        *,
        mark: str | None = None,
        headers: Sequence[tuple[str, bytes | None]] = (),
    ) -> None:
        """Hand in the next command. One that raises leaves nothing behind, as in the runtime."""
        value = to_json(command)
        record = self.desk.record(value, key=command.inbox_id, mark=mark)
        record = record._replace(headers=tuple(headers))
        turn = self.desk.turn(record)
        rows, waiting = dict(self.desk.state.rows), set(self.desk.timers.waiting)
        try:
            on_record(record, turn, policy=self.policy)
        except BaseException:
            self.desk.state.rows, self.desk.timers.waiting = rows, waiting
            raise
        self._take(turn.outputs, turn.effects)

    def wait(self, ms: int) -> None:
        """Let time pass; timers fire as they come due, each at its time."""
        self.desk.wait(ms, self.fire)

    def wait_for_call(self, most_ms: int = 2 * HOUR_MS) -> Effect:
        """Let time pass until a call is under way."""
        until_ms = self.desk.now_ms + most_ms
        while not self.calls:
            assert self.desk.move_to_due(until_ms), "no call in time"
            self.fire()
        return self.calls[0]

    def fire(self) -> None:
        """Fire what is due now."""
        turn = self.desk.turn()
        for timer in self.desk.timers.take_due(self.desk.now_ms):
            on_timer(timer, turn, policy=self.policy)
        self._take(turn.outputs, turn.effects)

    def fire_early(self, timers: Sequence[Timer]) -> None:
        """Fire these timers now, whenever they were meant for."""
        turn = self.desk.turn()
        for timer in timers:
            self.desk.timers.cancel(timer)
            on_timer(timer, turn, policy=self.policy)
        self._take(turn.outputs, turn.effects)

    def answer(self, outcome: object = SENT, *, call: Effect | None = None) -> Effect:
        """End a call: the given one, or the oldest."""
        ended = self.calls[0] if call is None else call
        self.calls.remove(ended)
        self.repeat(ended, outcome)
        return ended

    def repeat(self, call: Effect, outcome: object) -> None:
        """Hand in a result, whether or not its call is known."""
        turn = self.desk.turn()
        result = Result(call.kind, call.id, call.attempt, outcome)
        on_result(result, turn, policy=self.policy)
        self._take(turn.outputs, turn.effects)

    def crash(self) -> None:
        """The process dies: rows and timers stay, calls are never heard of again."""
        self.calls.clear()

    # -- what persons do

    def approve(self, name: str = "m1", **differences: Any) -> None:
        """Approve the held text as it is, unless told to differ."""
        row = self.row(name)
        given: dict[str, Any] = {"hold_number": row.hold_number, "text_hash": row.text_hash}
        given |= differences
        self.give(ApproveReply(reply_key=key_of(name), inbox_id=INBOX, by="ann", **given))

    def deny(self, name: str = "m1", **differences: Any) -> None:
        """Deny the held text as it is, unless told to differ."""
        row = self.row(name)
        given: dict[str, Any] = {"hold_number": row.hold_number, "text_hash": row.text_hash}
        given |= differences
        self.give(DenyReply(reply_key=key_of(name), inbox_id=INBOX, by="ann", **given))

    def release(self, name: str = "m1", **differences: Any) -> None:
        """Release a reply that only a replay asked for."""
        given = {"hold_number": self.row(name).hold_number} | differences
        self.give(ReleaseReply(reply_key=key_of(name), inbox_id=INBOX, by="ann", **given))

    def settle(self, verdict: str, name: str = "m1", **differences: Any) -> None:
        """Say what became of an uncertain reply."""
        given = {"hold_number": self.row(name).hold_number} | differences
        self.give(
            SettleReply(reply_key=key_of(name), inbox_id=INBOX, by="ann", verdict=verdict, **given)
        )

    # -- what there is

    def row(self, name: str = "m1") -> LedgerRow:
        """The ledger's row of a reply that it knows."""
        row = self.desk.turn().get(LEDGER, key_of(name))
        assert row is not None, name
        return row

    def state(self, name: str = "m1") -> str | None:
        """Where the reply stands, or None where the ledger does not know it."""
        row = self.desk.turn().get(LEDGER, key_of(name))
        return None if row is None else str(row.state)

    def told(self, topic: Topic, kind: Codec[RecordT]) -> list[RecordT]:
        """What was written to a topic so far, oldest first."""
        return told(self.outputs, topic, kind)

    def receipts(self, name: str = "m1") -> list[Receipt]:
        """The receipts of one reply."""
        found = self.told(Topic.REPLY_RECEIPTS, RECEIPT)
        return [each for each in found if each.reply_key == key_of(name)]

    def requests(self, since: int = 0) -> list[WriteRequest]:
        """What WRITE was asked, apart from the first `since` records of any kind."""
        return told(self.outputs[since:], Topic.WRITER_REQUESTS, WRITE_REQUEST)

    def dead_letters(self) -> list[Output]:
        """What was set aside."""
        return [each for each in self.outputs if each.topic == Topic.DEAD_LETTERS]

    def _take(self, outputs: Sequence[Output], effects: Sequence[Effect]) -> None:
        self.outputs += outputs
        self.calls += effects


def a_sender(*commands: AnyCommand, **policy: Any) -> Sender:
    """A sender that has been given these commands."""
    sender = Sender(dataclasses.replace(POLICY, **policy))
    for command in commands:
        sender.give(command)
    return sender
