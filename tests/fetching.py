"""A partition of FETCH on a dict: requests and answers go in, time is moved by hand."""

from processors.core.fetch import FETCHES, Fetch, FetchRow, Patience
from processors.core.fetch_calls import Outcome, ReadCall
from processors.core.retry import BACKOFF_CAP_MS
from processors.core.turn import Effect, Output, Record, Result, Turn
from schemas.codec import to_json
from schemas.events import FetchRequest, ThreadEvent
from schemas.keys import EventId, InboxId, MessageId, fetched_key
from tests.inbound import DIRECTORY, INTAKE, read_mail
from tests.payloads import INBOX
from tests.turns import Desk

PATIENCE = Patience(lease_ms=15_000, not_there_ms=300_000, give_up_ms=24 * 3600 * 1000)
ANNOUNCED = read_mail(text=None, size=5_000_000)
NAME = fetched_key(INTAKE.source, InboxId(INBOX), MessageId("m1@customer.example"))
CALL = ReadCall(
    provider="agentmail",
    account="mail",
    inbox_id=InboxId(INBOX),
    message_id=MessageId("m1@customer.example"),
    spelling="<m1@customer.example>",
    event_id=EventId(NAME.partition("/")[2]),
)


class Fetching:
    """One partition of FETCH: what comes goes in, and what it wants is kept by the turn."""

    def __init__(self) -> None:
        self.desk = Desk()
        self.fetch = Fetch(DIRECTORY, PATIENCE)

    def record(self, event: ThreadEvent = ANNOUNCED, *, mark: str | None = None) -> Record:
        """The next request."""
        return self.desk.record(to_json(FetchRequest(event=event)), mark=mark)

    def ask(self, event: ThreadEvent = ANNOUNCED, *, mark: str | None = None) -> Turn:
        """A request comes."""
        turn = self.desk.turn(self.record(event, mark=mark))
        assert turn.record is not None
        self.fetch.on_record(turn.record, turn)
        return turn

    def answer(self, effect: Effect, outcome: Outcome) -> Turn:
        """The call of this effect comes back."""
        turn = self.desk.turn()
        result = Result(effect.kind, effect.id, effect.attempt, outcome)
        self.fetch.on_result(result, turn)
        return turn

    def wait(self, ms: int) -> list[Turn]:
        """Time passes, and the timers that are due by then fire in their order."""
        self.desk.now_ms += ms
        turns = []
        for timer in self.desk.timers.take_due(self.desk.now_ms):
            turns.append(self.desk.turn())
            self.fetch.on_timer(timer, turns[-1])
        return turns

    def try_for(self, ms: int, outcome: Outcome) -> list[Turn]:
        """Every call within this time comes to the same; what the turns of the answers wanted."""
        waiting, answers = list(self.ask().effects), []
        until_ms = self.desk.now_ms + ms
        while waiting:
            answers.append(self.answer(waiting.pop(), outcome))
            if self.desk.now_ms < until_ms:
                waiting += [each for turn in self.wait(BACKOFF_CAP_MS) for each in turn.effects]
        return answers

    def timers(self) -> list[tuple[str, int]]:
        """The kinds that wait, and in how long."""
        return [(each.kind, each.due_ms - self.desk.now_ms) for each in self.desk.timers.waiting]

    def row(self) -> FetchRow | None:
        """What is remembered of the message."""
        return self.desk.turn().get(FETCHES, NAME)


def written(turn: Turn) -> list[Output]:
    """What the turn wrote, without headers."""
    return [each._replace(headers=()) for each in turn.outputs]
