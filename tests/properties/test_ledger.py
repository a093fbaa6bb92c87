"""The ledger under any schedule: one mail a reply, in order, and nothing stuck."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis.stateful import (
    invariant,
)

from processors.core.gates import SLOTS_LANE
from processors.core.ledger_index import timer_of
from processors.core.ledger_rows import (
    GATES,
    LANES,
    OPEN_REPLIES,
    QUEUED_REPLIES,
    SLOTS,
    LedgerRow,
    State,
)
from processors.core.turn import Timer
from tests.ledger_rules import RulesWithPersons
from tests.ledger_world import NAMES, name_of
from tests.sending import (
    MINUTE_MS,
    a_text,
    key_of,
)


class LedgerMachine(RulesWithPersons):
    """Any order of asks, texts, answers, crashes, waits and people, and what must hold."""

    @invariant()
    def replies_of_a_thread_do_not_overlap(self) -> None:
        """The next is asked when none is open, apart from those that lost their place."""
        open_now = Counter(
            row.thread_key
            for row in self.rows()
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
        for row in self.in_state(State.QUEUED):
            waiting[row.thread_key].append(row.position)
        for request in fresh:
            row = self.sender.row(name_of(request.reply_key))
            if not row.is_slow:
                ahead = [each for each in waiting[row.thread_key] if each < row.position]
                assert ahead == []

    @invariant()
    def indexes_agree_with_the_rows(self) -> None:
        """An index that forgets a reply leaves it lying for ever."""
        turn = self.sender.desk.turn()
        rows = self.rows()
        assert _keys(turn.rows(QUEUED_REPLIES)) == _keys_of(rows, lambda row: row.state == "queued")
        assert _keys(turn.rows(OPEN_REPLIES)) == _keys_of(rows, lambda row: row.is_open)
        assert _keys(turn.rows(LANES)) == _keys_of(rows, lambda row: row.lane != "")
        slots = turn.get(SLOTS)
        posting = len(self.in_state(State.POSTING))
        assert (0 if slots is None else slots.taken) == posting

    @invariant()
    def nothing_waits_for_nothing(self) -> None:
        """Each waiting reply has a timer, a person, its thread, a gate or a slot to wait for."""
        waiting = self.sender.desk.timers.waiting
        turn = self.sender.desk.turn()
        own = {timer for timer in waiting if timer.kind not in ("gate", "lane")}
        assert own == {timer for row in self.rows() if (timer := timer_of(row)) is not None}
        for row in self.in_state(State.QUEUED):
            mates = [each for each in self.rows() if each.thread_key == row.thread_key]
            assert any(each.is_open for each in mates)
        for row in self.in_state(State.DUE):
            assert bool(row.lane) != bool(row.wake_at_ms)
            if row.lane == SLOTS_LANE:
                assert self.in_state(State.POSTING) or self.has_lane_timer(SLOTS_LANE)
            elif row.lane and not self.has_lane_timer(row.lane):
                gate = turn.get(GATES, row.lane)
                assert gate is not None
                is_timed = Timer(gate.closed_until_ms, "gate", row.lane) in waiting
                assert is_timed or self.sender.state(name_of(gate.probe)) == "posting"

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
        return any(row.state in restless for row in self.rows())

    def _settle_down(self) -> None:
        self.replies_are_asked_in_position_order()
        for request in self.unwritten:
            self.give(a_text(name_of(request.reply_key), ask_number=request.ask_number))
        self.unwritten.clear()
        for call in list(self.sender.calls):
            self.sender.answer(self.outcome_of(call), call=call)
        self.sender.wait(MINUTE_MS)
        self.indexes_agree_with_the_rows()
        self.nothing_waits_for_nothing()


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
