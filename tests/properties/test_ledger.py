"""The ledger under any schedule: one mail a reply, in order, and nothing stuck."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from processors.core.gates import SLOTS_LANE
from processors.core.ledger_index import timer_of
from processors.core.ledger_rows import (
    GATES,
    LANES,
    LEDGER,
    OPEN_REPLIES,
    QUEUED_REPLIES,
    SLOTS,
    LedgerRow,
    State,
)
from processors.core.outcomes import Answer, Failure, Looked, Stopped
from processors.core.requests import POST
from processors.core.turn import Effect, Timer
from schemas.commands import SettleReply, WriteRequest
from schemas.keys import ReplyKey
from tests.sending import (
    DAY_MS,
    HOUR_MS,
    INBOX,
    MINUTE_MS,
    SECOND_MS,
    Sender,
    a_sender,
    a_text,
    an_ask,
    key_of,
)

NAMES = tuple(f"m{nth}" for nth in range(4))
THREADS = ("thd_1", "thd_2")
KEY_TTL_MS = DAY_MS

names = st.sampled_from(NAMES)
nth = st.integers(0, 99)
waits = st.sampled_from((SECOND_MS, 20 * SECOND_MS, 6 * MINUTE_MS, 2 * HOUR_MS, 25 * HOUR_MS))

# What an answer can be when the provider took the mail, and when it did not.
TOOK_AND_SAID_NOT = (
    Answer(failure=Failure.TIMEOUT),
    Answer(failure=Failure.CONNECTION),
    Answer(status=502),
    Answer(status=200),
    Answer(status=302),
)
TOOK_NOTHING = (
    Answer(status=429),
    Answer(status=429, retry_after="40"),
    Answer(status=503),
    Answer(status=401),
    Answer(status=403, code="missing_permission"),
    Answer(failure=Failure.UNREACHED),
    Answer(failure=Failure.UNWRITTEN),
    Answer(failure=Failure.TIMEOUT),
    Answer(status=409, code="conflict"),
)


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


class LedgerMachine(RuleBasedStateMachine):
    """Any order of asks, texts, answers, crashes, waits and people, and what must hold."""

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

    # -- what comes

    @rule(name=names, thread=st.sampled_from(THREADS))
    def ask(self, name: str, thread: str) -> None:
        """DECIDE asks; the same ask may come again."""
        ask = self.asks.setdefault(name, an_ask(name, nth=int(name[1:]), thread=thread))
        if self.sender.state(name) is None:
            self.live.add(name)
        self._give(ask)

    @rule(name=names, thread=st.sampled_from(THREADS))
    def ask_in_a_replay(self, name: str, thread: str) -> None:
        """A rewound DECIDE asks under a mark."""
        ask = self.asks.setdefault(name, an_ask(name, nth=int(name[1:]), thread=thread))
        self._give(ask, mark="replay-1")

    @precondition(lambda self: self.given)
    @rule(pick=nth)
    def read_again(self, pick: int) -> None:
        """A rewound SEND reads an old command again."""
        self._give(self.given[pick % len(self.given)], mark="replay-2")

    @precondition(lambda self: self.unwritten)
    @rule(pick=nth, texts=st.integers(0, 2))
    def write(self, pick: int, texts: int) -> None:
        """WRITE answers late, twice, or never; each time it may find other words."""
        request = self.unwritten.pop(pick % len(self.unwritten))
        for draft in range(texts):
            name = _name_of(request.reply_key)
            words = f"answer {request.ask_number}.{draft} to {name}"
            if self.sender.state(name) == "asked":
                self.provider.words[request.reply_key] = words.encode()
            self._give(a_text(name, ask_number=request.ask_number, text=words))

    @rule(ms=waits)
    def wait(self, ms: int) -> None:
        """Time passes, timers fire; calls whose lease ended are known to be late."""
        self.sender.wait(ms)
        for call in list(self.sender.calls):
            if self.sender.row(_name_of(ReplyKey(call.id))).attempt != call.attempt:
                self.sender.calls.remove(call)
                self.late.append((call, Answer(failure=Failure.UNWRITTEN)))
        del self.late[:-3]

    # -- the calls

    @precondition(lambda self: self.sender.calls)
    @rule(pick=nth)
    def call_succeeds(self, pick: int) -> None:
        """The usual case."""
        call = self._pick(pick)
        self.sender.answer(self._outcome(call), call=call)

    @precondition(lambda self: self.sender.calls)
    @rule(pick=nth, answer=st.sampled_from(TOOK_AND_SAID_NOT))
    def call_succeeds_unheard(self, pick: int, answer: Answer) -> None:
        """The mail went out, and the answer does not say so."""
        call = self._pick(pick)
        outcome = self._outcome(call)
        is_heard = isinstance(outcome, Stopped) or call.kind != POST
        self.sender.answer(outcome if is_heard else answer, call=call)

    @precondition(lambda self: self.sender.calls)
    @rule(pick=nth, answer=st.sampled_from(TOOK_NOTHING))
    def call_fails(self, pick: int, answer: Answer) -> None:
        """Nothing went out."""
        call = self._pick(pick)
        self.sender.answer(answer if call.kind == POST else Looked(answer=answer), call=call)

    @precondition(lambda self: self.sender.calls)
    @rule(pick=nth, is_made=st.booleans())
    def call_is_late(self, pick: int, is_made: bool) -> None:  # noqa: FBT001  # hypothesis fills it
        """The result comes when it may not count any more."""
        call = self._pick(pick)
        outcome = self._outcome(call) if is_made else Answer(failure=Failure.TIMEOUT)
        self.sender.calls.remove(call)
        self.late.append((call, outcome))

    @precondition(lambda self: self.late)
    @rule(pick=nth)
    def late_result(self, pick: int) -> None:
        """It comes after all."""
        self.sender.repeat(*self.late.pop(pick % len(self.late)))

    @rule(made=st.integers(0, 3))
    def crash(self, made: int) -> None:
        """The process dies; some of its calls had been made."""
        for call in self.sender.calls[:made]:
            self._outcome(call)
        self.sender.crash()
        self.late.clear()

    @rule()
    def stop_or_start(self) -> None:
        """The kill switch."""
        self.is_stopped = not self.is_stopped

    # -- persons

    @precondition(lambda self: self._in(State.HELD_REPLAY))
    @rule(pick=nth, behind=st.integers(0, 1))
    def release(self, pick: int, behind: int) -> None:
        """An operator lets a reply of a replay go; perhaps from an old list."""
        row = self._pick_in(pick, State.HELD_REPLAY)
        name = _name_of(row.reply_key)
        self.sender.release(name, hold_number=row.hold_number - behind)
        if not behind:
            self.freed.add(name)

    @precondition(lambda self: self._in(State.HELD_UNCERTAIN))
    @rule(pick=nth, behind=st.integers(0, 1))
    def retry(self, pick: int, behind: int) -> None:
        """A person says: send it again, whether or not a mail is out there."""
        row = self._pick_in(pick, State.HELD_UNCERTAIN)
        command = SettleReply(
            reply_key=row.reply_key,
            inbox_id=INBOX,
            hold_number=row.hold_number - behind,
            verdict="retry",
            by="ann",
        )
        self._give(command)
        if not behind:
            self.resent[row.reply_key] += 1
            self.back_from_hold.add(row.reply_key)

    @precondition(lambda self: self._in(State.HELD_UNCERTAIN))
    @rule(pick=nth)
    def settle(self, pick: int) -> None:
        """A person looked, and says what is so."""
        row = self._pick_in(pick, State.HELD_UNCERTAIN)
        if self.provider.mails[row.reply_key]:
            self.sender.settle("sent", _name_of(row.reply_key))

    # -- what must hold

    @invariant()
    def replies_of_a_thread_do_not_overlap(self) -> None:
        """The next is asked when none is open, apart from those that lost their place."""
        open_now = Counter(
            row.thread_key
            for row in self._rows()
            if row.is_open and row.reply_key not in self.back_from_hold
        )
        assert [thread for thread, count in open_now.items() if count > 1] == []

    @invariant()
    def replies_are_asked_in_position_order(self) -> None:
        """Whoever is asked stands before all that wait in the thread."""
        fresh = self.sender.requests(since=self.seen)
        self.seen = len(self.sender.outputs)
        self.unwritten += fresh
        waiting = defaultdict(list)
        for row in self._in(State.QUEUED):
            waiting[row.thread_key].append(row.position)
        for request in fresh:
            row = self.sender.row(_name_of(request.reply_key))
            if not row.is_slow:
                ahead = [each for each in waiting[row.thread_key] if each < row.position]
                assert ahead == []

    @invariant()
    def indexes_agree_with_the_rows(self) -> None:
        """An index that forgets a reply leaves it lying for ever."""
        turn = self.sender.desk.turn()
        rows = self._rows()
        assert _keys(turn.rows(QUEUED_REPLIES)) == _keys_of(rows, lambda row: row.state == "queued")
        assert _keys(turn.rows(OPEN_REPLIES)) == _keys_of(rows, lambda row: row.is_open)
        assert _keys(turn.rows(LANES)) == _keys_of(rows, lambda row: row.lane != "")
        slots = turn.get(SLOTS)
        posting = len(self._in(State.POSTING))
        assert (0 if slots is None else slots.taken) == posting

    @invariant()
    def nothing_waits_for_nothing(self) -> None:
        """Each waiting reply has a timer, a person, its thread, a gate or a slot to wait for."""
        waiting = self.sender.desk.timers.waiting
        turn = self.sender.desk.turn()
        own = {timer for timer in waiting if timer.kind not in ("gate", "lane")}
        assert own == {timer for row in self._rows() if (timer := timer_of(row)) is not None}
        for row in self._in(State.QUEUED):
            mates = [each for each in self._rows() if each.thread_key == row.thread_key]
            assert any(each.is_open for each in mates)
        for row in self._in(State.DUE):
            assert bool(row.lane) != bool(row.wake_at_ms)
            if row.lane == SLOTS_LANE:
                assert self._in(State.POSTING) or self._has_lane_timer(SLOTS_LANE)
            elif row.lane and not self._has_lane_timer(row.lane):
                gate = turn.get(GATES, row.lane)
                assert gate is not None
                is_timed = Timer(gate.closed_until_ms, "gate", row.lane) in waiting
                assert is_timed or self.sender.state(_name_of(gate.probe)) == "posting"

    def teardown(self) -> None:
        """Let everything come to rest, then count the mails."""
        if not hasattr(self, "sender"):
            return
        self.is_stopped = False
        for _ in range(200):
            if not self._is_restless():
                break
            self._settle_down()
        else:
            raise AssertionError("does not come to rest")
        for name in NAMES:
            self._count(name)

    # -- how it is done

    def _count(self, name: str) -> None:
        key = key_of(name)
        mails, state = self.provider.mails[key], self.sender.state(name)
        most = 1 + self.resent[key]
        if name in self.live | self.freed:
            assert state in ("sent", "held-uncertain"), (name, state)
            assert mails >= (state == "sent"), (name, "no mail")
            assert mails <= most, (name, mails)
        else:
            assert state in (None, "held-replay"), (name, state)
            assert mails == 0, (name, "not owed")

    def _is_restless(self) -> bool:
        restless = (State.QUEUED, State.ASKED, State.DUE, State.POSTING)
        return any(row.state in restless for row in self._rows())

    def _settle_down(self) -> None:
        self.replies_are_asked_in_position_order()
        for request in self.unwritten:
            self._give(a_text(_name_of(request.reply_key), ask_number=request.ask_number))
        self.unwritten.clear()
        for call in list(self.sender.calls):
            self.sender.answer(self._outcome(call), call=call)
        self.sender.wait(MINUTE_MS)
        self.indexes_agree_with_the_rows()
        self.nothing_waits_for_nothing()

    def _outcome(self, call: Effect) -> object:
        row = self.sender.row(_name_of(ReplyKey(call.id)))
        if row.attempt != call.attempt:
            # Its lease is over: whoever carries it out looks at it before writing.
            return Answer(failure=Failure.UNWRITTEN)
        if call.kind != POST:
            return self.provider.look(ReplyKey(call.id))
        if self.is_stopped:
            return Stopped(switch="sends")
        return self.provider.take(call, self.sender.desk.now_ms)

    def _give(self, command: Any, mark: str | None = None) -> None:
        self.sender.give(command, mark=mark)
        self.given.append(command)

    def _pick(self, pick: int) -> Effect:
        return self.sender.calls[pick % len(self.sender.calls)]

    def _rows(self) -> list[LedgerRow]:
        return [row for _, row in self.sender.desk.turn().rows(LEDGER)]

    def _in(self, state: State) -> list[LedgerRow]:
        return [row for row in self._rows() if row.state is state]

    def _pick_in(self, pick: int, state: State) -> LedgerRow:
        rows = self._in(state)
        return rows[pick % len(rows)]

    def _has_lane_timer(self, lane: str) -> bool:
        waiting = self.sender.desk.timers.waiting
        return any(timer.kind == "lane" and timer.id == lane for timer in waiting)


def _name_of(key: str) -> str:
    return next((name for name in NAMES if key_of(name) == key), key)


def _keys(found: Iterable[tuple[bytes, Any]]) -> list[str]:
    return sorted(pointer.reply_key for _, pointer in found)


def _keys_of(rows: list[LedgerRow], holds: Any) -> list[str]:
    return sorted(row.reply_key for row in rows if holds(row))


TestLedger = LedgerMachine.TestCase
TestLedger.settings = settings(
    max_examples=50,
    stateful_step_count=50,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
