"""REORDER at a desk: mails in, what came out, and time that passes."""

from dataclasses import replace

import msgspec

from processors.core.reorder import on_record, on_timer
from processors.core.reorder_rows import HELD, Held, Rules
from processors.core.turn import Output, Turn
from schemas.codec import to_json
from schemas.events import (
    DUPLICATE,
    ORDERED_EVENT,
    Duplicate,
    Kind,
    OrderedEvent,
    ThreadEvent,
    Where,
)
from schemas.keys import EventId, EventKey, InboxId, MessageId, SourceName, ThreadKey
from schemas.topics import Topic
from tests.turns import NOW_MS, Desk

RULES = Rules(
    grace_ms=2_000,
    predecessor_wait_ms=90_000,
    fetch_wait_ms=300_000,
    hold_per_thread=100,
    hold_per_partition=50_000,
    hold_bytes=256 * 1024 * 1024,
    horizon_ms=30 * 24 * 3600 * 1000,
)
INBOX = InboxId("help@inbox.example")
# One inbound record for all: where an event came from is told apart by the tests that care.
ORIGIN = Where(topic="inbound-events", partition=3, offset=17)


def a_mail(name: str = "m", *, at_ms: int = 0, **changes: object) -> ThreadEvent:
    """A mail of thread "t" that names no parent, sent `at_ms` after NOW_MS."""
    event = ThreadEvent(
        kind=Kind.RECEIVED,
        event_key=EventKey(f"src/evt-{name}"),
        event_id=EventId(f"evt-{name}"),
        source=SourceName("src"),
        provider="agentmail",
        workspace="acme",
        inbox_id=INBOX,
        occurred_at_ns=(NOW_MS + at_ms) * 1_000_000,
        received_at_ms=NOW_MS,
        thread_key=ThreadKey("t"),
        message_id=MessageId(name),
        content_hash=f"hash of {name}",
        origin=ORIGIN,
    )
    return msgspec.structs.replace(event, **changes)


def an_opening(name: str = "root", **changes: object) -> ThreadEvent:
    """A mail of which the provider says that it began the thread."""
    return a_mail(name, is_opening=True, **changes)  # type: ignore[arg-type]  # at_ms among them


def an_answer(name: str, *parents: str, at_ms: int = 0, **changes: object) -> ThreadEvent:
    """A mail that names its parents, the nearest first."""
    ids = tuple(MessageId(parent) for parent in parents)
    return a_mail(name, at_ms=at_ms, parents=ids, **changes)


def an_announcement(name: str, *, at_ms: int = 0, **changes: object) -> ThreadEvent:
    """An event that says a mail came, without the mail."""
    words: dict[str, object] = {
        "kind": Kind.ANNOUNCED,
        "event_key": EventKey(f"src/announced-{name}"),
        "event_id": EventId(f"announced-{name}"),
        "content_hash": None,
    }
    return a_mail(name, at_ms=at_ms, **(words | changes))


def a_fact(kind: str, name: str | None = None, *, at_ms: int = 0, **changes: object) -> ThreadEvent:
    """A fact about the message of this name, or about none."""
    words: dict[str, object] = {
        "kind": kind,
        "event_key": EventKey(f"src/{kind}-{name}"),
        "event_id": EventId(f"{kind}-{name}"),
        "message_id": None if name is None else MessageId(name),
        "content_hash": None,
    }
    return a_mail(name or "none", at_ms=at_ms, **(words | changes))


class Reordering:
    """One partition's REORDER, and all that it has written."""

    def __init__(self, **limits: int) -> None:
        self.desk = Desk()
        self.rules = replace(RULES, **limits)
        self.outputs: list[Output] = []

    def give(self, *events: ThreadEvent, mark: str | None = None) -> list[str]:
        """Give it these events, one record each. Returns the names of the mails that came out."""
        before = len(self.outputs)
        for event in events:
            self.give_bytes(to_json(event), mark=mark)
        return names(self.outputs[before:])

    def give_bytes(self, value: bytes | None, *, mark: str | None = None) -> None:
        """Give it a record with this value."""
        record = self.desk.record(value, key=INBOX, mark=mark)
        turn = self.desk.turn(record)
        on_record(record, turn, self.rules)
        self.outputs += turn.outputs

    def wait(self, ms: int) -> list[str]:
        """Let time pass; each timer rings when it is due. Returns the names of what came out."""
        before, until_ms = len(self.outputs), self.desk.now_ms + ms
        while waiting := [each for each in self.desk.timers.waiting if each.due_ms <= until_ms]:
            # A rule that set a timer into the past would otherwise turn time back.
            self.desk.now_ms = max(self.desk.now_ms, min(each.due_ms for each in waiting))
            self.ring()
        self.desk.now_ms = until_ms
        return names(self.outputs[before:])

    def ring(self) -> None:
        """Ring the timers that are due."""
        for timer in self.desk.timers.take_due(self.desk.now_ms):
            turn = self.desk.turn()
            on_timer(timer, turn, self.rules)
            self.outputs += turn.outputs

    def turn(self) -> Turn:
        """A turn to look at the state with."""
        return self.desk.turn()

    @property
    def ordered(self) -> list[OrderedEvent]:
        """All that came out on `ordered-events`."""
        return ordered(self.outputs)

    @property
    def story(self) -> list[tuple[str, str, int]]:
        """What came out: which mail, what let it through, and how long it was held."""
        return [(each.position.tie, each.released, each.held_ms) for each in self.ordered]

    @property
    def duplicates(self) -> list[Duplicate]:
        """All that came out on `duplicate-events`."""
        return [
            DUPLICATE.decode(each.value)
            for each in self.outputs
            if each.topic is Topic.DUPLICATE_EVENTS
        ]

    @property
    def held(self) -> list[Held]:
        """What is held, the longest held first."""
        return [row for _, row in self.turn().rows(HELD)]


def ordered(outputs: list[Output]) -> list[OrderedEvent]:
    """The records on `ordered-events` among these."""
    return [
        ORDERED_EVENT.decode(each.value) for each in outputs if each.topic is Topic.ORDERED_EVENTS
    ]


def names(outputs: list[Output]) -> list[str]:
    """The names under which the ordered events among these were built."""
    return [each.event.event_id.removeprefix("evt-") for each in ordered(outputs)]
