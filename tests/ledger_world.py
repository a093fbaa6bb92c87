"""The world around the ledger, for its state machine: a mailbox, and what is known of replies."""

from collections import Counter
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
)

from processors.core.ledger_rows import (
    LEDGER,
    LedgerRow,
    State,
)
from processors.core.outcomes import Answer, Failure, Looked, Stopped
from processors.core.requests import POST
from processors.core.turn import Effect
from schemas.commands import WriteRequest
from schemas.keys import ReplyKey
from tests.sending import (
    DAY_MS,
    Sender,
    a_sender,
    key_of,
)

NAMES = tuple(f"m{nth}" for nth in range(4))
THREADS = ("thd_1", "thd_2")
KEY_TTL_MS = DAY_MS


class Provider:
    """A mailbox behind idempotency keys, as the contract has it."""

    def __init__(self) -> None:
        self.kept: dict[str, tuple[bytes, int]] = {}
        self.mails: Counter[str] = Counter()
        self.words: dict[str, bytes] = {}

    def take(self, call: Effect, now_ms: int) -> Answer:
        """Accept the post, or give the first answer again."""
        key, body = call.request.idempotency_key, call.request.request.body
        kept = self.kept.get(key)
        if kept is None or now_ms - kept[1] >= KEY_TTL_MS:
            self.kept[key] = (body, now_ms)
            self.mails[key] += 1
        assert self.kept[key][0] == body, "the same key with other bytes"
        assert self.words.get(key, b"") in body, "not the first text"
        return Answer(status=200, message_id=f"<{key}@out.example>", thread_id="thd")

    def look(self, key: ReplyKey) -> Looked:
        """What the thread shows."""
        found = (f"<{key}@out.example>", "thd") if self.mails[key] else None
        return Looked(answer=Answer(status=200), found=found)


class World(RuleBasedStateMachine):
    """A partition of SEND with all that stands around it: WRITE, provider, readers of the log."""

    def __init__(self) -> None:
        super().__init__()
        self.provider = Provider()
        self.sender: Sender
        self.asks: dict[str, Any] = {}
        self.live: set[str] = set()
        self.freed: set[str] = set()
        self.said_sent: set[str] = set()
        self.resent: Counter[str] = Counter()
        self.back_from_hold: set[str] = set()
        self.unwritten: list[WriteRequest] = []
        self.seen = 0
        self.given: list[Any] = []
        self.late: list[tuple[Effect, object]] = []
        self.is_stopped = False

    @initialize(at_once=st.integers(1, 3))
    def start(self, at_once: int) -> None:
        """Age gives nothing up here: what is owed must go out in the end."""
        self.sender = a_sender(calls_at_once=at_once, give_up_after_ms=10_000 * DAY_MS)

    def outcome_of(self, call: Effect) -> object:
        """What carrying out this call comes to, if it may still be carried out."""
        row = self.sender.row(name_of(ReplyKey(call.id)))
        if row.attempt != call.attempt:
            # Its lease is over: whoever carries it out looks at it before writing.
            return Answer(failure=Failure.UNWRITTEN)
        if call.kind != POST:
            return self.provider.look(ReplyKey(call.id))
        if self.is_stopped:
            return Stopped(switch="sends")
        return self.provider.take(call, self.sender.desk.now_ms)

    def give(self, command: Any, mark: str | None = None) -> None:
        """Hand in a command, and remember it for a replay."""
        self.sender.give(command, mark=mark)
        self.given.append(command)

    def pick_call(self, pick: int) -> Effect:
        """One of the calls under way."""
        return self.sender.calls[pick % len(self.sender.calls)]

    def rows(self) -> list[LedgerRow]:
        """The whole ledger."""
        return [row for _, row in self.sender.desk.turn().rows(LEDGER)]

    def in_state(self, state: State) -> list[LedgerRow]:
        """The replies that stand there."""
        return [row for row in self.rows() if row.state is state]

    def pick_in(self, pick: int, state: State) -> LedgerRow:
        """One of the replies that stand there."""
        rows = self.in_state(state)
        return rows[pick % len(rows)]

    def has_lane_timer(self, lane: str) -> bool:
        """Whether the lane is about to be let out further."""
        waiting = self.sender.desk.timers.waiting
        return any(timer.kind == "lane" and timer.id == lane for timer in waiting)


def name_of(key: str) -> str:
    """The name of the message that a reply key belongs to."""
    return next((name for name in NAMES if key_of(name) == key), key)
