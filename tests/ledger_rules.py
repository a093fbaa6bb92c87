"""What can happen to a ledger, as rules of its state machine."""

from hypothesis import strategies as st
from hypothesis.stateful import (
    precondition,
    rule,
)

from processors.core.ledger_rows import (
    State,
)
from processors.core.outcomes import Answer, Failure, Looked, Stopped
from processors.core.requests import POST
from schemas.commands import SettleReply
from schemas.keys import ReplyKey
from tests.ledger_world import NAMES, THREADS, World, name_of
from tests.sending import (
    HOUR_MS,
    INBOX,
    MINUTE_MS,
    SECOND_MS,
    a_text,
    an_ask,
    key_of,
)

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


class Rules(World):
    """What comes, and what becomes of calls, in any order."""

    @rule(name=names, thread=st.sampled_from(THREADS))
    def ask(self, name: str, thread: str) -> None:
        """DECIDE asks; the same ask may come again."""
        ask = self.asks.setdefault(name, an_ask(name, nth=int(name[1:]), thread=thread))
        if self.sender.state(name) is None:
            self.live.add(name)
        self.give(ask)

    @rule(name=names, thread=st.sampled_from(THREADS))
    def ask_in_a_replay(self, name: str, thread: str) -> None:
        """A rewound DECIDE asks under a mark."""
        ask = self.asks.setdefault(name, an_ask(name, nth=int(name[1:]), thread=thread))
        self.give(ask, mark="replay-1")

    @precondition(lambda self: self.given)
    @rule(pick=nth)
    def read_again(self, pick: int) -> None:
        """A rewound SEND reads an old command again."""
        self.give(self.given[pick % len(self.given)], mark="replay-2")

    @precondition(lambda self: self.unwritten)
    @rule(pick=nth, texts=st.integers(0, 2))
    def write(self, pick: int, texts: int) -> None:
        """WRITE answers late, twice, or never; each time it may find other words."""
        request = self.unwritten.pop(pick % len(self.unwritten))
        for draft in range(texts):
            name = name_of(request.reply_key)
            words = f"answer {request.ask_number}.{draft} to {name}"
            if self.sender.state(name) == "asked":
                self.provider.words[request.reply_key] = words.encode()
            self.give(a_text(name, ask_number=request.ask_number, text=words))

    @rule(name=names, thread=st.sampled_from(THREADS))
    def ask_and_write(self, name: str, thread: str) -> None:
        """Most asks are answered soon; without this most schedules would never reach a call."""
        self.ask(name, thread)
        if self.sender.state(name) == "asked":
            self.provider.words[key_of(name)] = b"soon"
            self.give(a_text(name, text="soon"))

    @precondition(lambda self: self.sender.calls)
    @rule(pick=nth)
    def lose_an_answer_for_a_day(self, pick: int) -> None:
        """The mail went out, nobody heard of it, and the key is forgotten meanwhile."""
        self.outcome_of(self.pick_call(pick))
        self.sender.crash()
        self.wait(25 * HOUR_MS)

    @rule(ms=waits)
    def wait(self, ms: int) -> None:
        """Time passes, timers fire; calls whose lease ended are known to be late."""
        self.sender.wait(ms)
        for call in list(self.sender.calls):
            if self.sender.row(name_of(ReplyKey(call.id))).attempt != call.attempt:
                self.sender.calls.remove(call)
                self.late.append((call, Answer(failure=Failure.UNWRITTEN)))
        del self.late[:-3]

    @precondition(lambda self: self.sender.calls)
    @rule(pick=nth)
    def call_succeeds(self, pick: int) -> None:
        """The usual case."""
        call = self.pick_call(pick)
        self.sender.answer(self.outcome_of(call), call=call)

    @precondition(lambda self: self.sender.calls)
    @rule(pick=nth, answer=st.sampled_from(TOOK_AND_SAID_NOT))
    def call_succeeds_unheard(self, pick: int, answer: Answer) -> None:
        """The mail went out, and the answer does not say so."""
        call = self.pick_call(pick)
        outcome = self.outcome_of(call)
        is_heard = isinstance(outcome, Stopped) or call.kind != POST
        self.sender.answer(outcome if is_heard else answer, call=call)

    @precondition(lambda self: self.sender.calls)
    @rule(pick=nth, answer=st.sampled_from(TOOK_NOTHING))
    def call_fails(self, pick: int, answer: Answer) -> None:
        """Nothing went out."""
        call = self.pick_call(pick)
        self.sender.answer(answer if call.kind == POST else Looked(answer=answer), call=call)

    @precondition(lambda self: self.sender.calls)
    @rule(pick=nth, is_made=st.booleans())
    def call_is_late(self, pick: int, is_made: bool) -> None:  # noqa: FBT001  # hypothesis fills it
        """The result comes when it may not count any more."""
        call = self.pick_call(pick)
        outcome = self.outcome_of(call) if is_made else Answer(failure=Failure.TIMEOUT)
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
            self.outcome_of(call)
        self.sender.crash()
        self.late.clear()

    @rule()
    def stop_or_start(self) -> None:
        """The kill switch."""
        self.is_stopped = not self.is_stopped


class RulesWithPersons(Rules):
    """People decide in between."""

    @precondition(lambda self: self.in_state(State.HELD_REPLAY))
    @rule(pick=nth, behind=st.integers(0, 1))
    def release(self, pick: int, behind: int) -> None:
        """An operator lets a reply of a replay go; perhaps from an old list."""
        row = self.pick_in(pick, State.HELD_REPLAY)
        name = name_of(row.reply_key)
        self.sender.release(name, hold_number=row.hold_number - behind)
        if not behind:
            self.freed.add(name)

    @precondition(lambda self: self.in_state(State.HELD_UNCERTAIN))
    @rule(pick=nth, behind=st.integers(0, 1))
    def retry(self, pick: int, behind: int) -> None:
        """A person says: send it again, whether or not a mail is out there."""
        row = self.pick_in(pick, State.HELD_UNCERTAIN)
        command = SettleReply(
            reply_key=row.reply_key,
            inbox_id=INBOX,
            hold_number=row.hold_number - behind,
            verdict="retry",
            by="ann",
        )
        self.give(command)
        if not behind:
            self.resent[row.reply_key] += 1
            self.back_from_hold.add(row.reply_key)

    @precondition(lambda self: self.in_state(State.HELD_UNCERTAIN))
    @rule(pick=nth)
    def settle(self, pick: int) -> None:
        """A person looked, and says what is so."""
        row = self.pick_in(pick, State.HELD_UNCERTAIN)
        if self.provider.mails[row.reply_key]:
            self.sender.settle("sent", name_of(row.reply_key))
