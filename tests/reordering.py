"""REORDER at a desk: mails in, what came out, and time that passes."""

from dataclasses import replace
from typing import Any

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
from schemas.keys import EventId, EventKey, InboxId, MessageId, ThreadKey
from schemas.topics import Topic
from tests.thread_events import a_thread_event
from tests.turns import NOW_MS, Desk, told

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


def a_mail(name: str = "m", **changes: Any) -> ThreadEvent:
    """A mail of thread "t" that names no parent, sent `at_ms` after NOW_MS."""
    words: dict[str, Any] = {
        "inbox_id": INBOX,
        "received_at_ms": NOW_MS,
        "thread_key": ThreadKey("t"),
        "message_id": MessageId(name),
        "content_hash": f"hash of {name}",
        "origin": ORIGIN,
    }
    return a_thread_event(f"evt-{name}", **words | changes)


def an_opening(name: str = "root", **changes: Any) -> ThreadEvent:
    """A mail of which the provider says that it began the thread."""
    return a_mail(name, is_opening=True, **changes)


def an_answer(name: str, *parents: str, **changes: Any) -> ThreadEvent:
    """A mail that names its parents, the nearest first."""
    ids = tuple(MessageId(parent) for parent in parents)
    return a_mail(name, parents=ids, **changes)


def an_announcement(name: str, **changes: Any) -> ThreadEvent:
    """An event that says a mail came, without the mail."""
    return a_mail(name, **_other_event(Kind.ANNOUNCED, f"announced-{name}") | changes)


def a_fact(kind: str, name: str | None = None, **changes: Any) -> ThreadEvent:
    """A fact about the message of this name, or about none."""
    message_id = None if name is None else MessageId(name)
    words = _other_event(kind, f"{kind}-{name}") | {"message_id": message_id}
    return a_mail(name or "none", **words | changes)


def _other_event(kind: str, event_id: str) -> dict[str, Any]:
    return {
        "kind": kind,
        "event_key": EventKey(f"src/{event_id}"),
        "event_id": EventId(event_id),
        "content_hash": None,
    }


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
        before = len(self.outputs)
        self.desk.wait(ms, self.ring)
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
        return told(self.outputs, Topic.DUPLICATE_EVENTS, DUPLICATE)

    @property
    def held(self) -> list[Held]:
        """What is held, the longest held first."""
        return [row for _, row in self.turn().rows(HELD)]


def ordered(outputs: list[Output]) -> list[OrderedEvent]:
    """The records on `ordered-events` among these."""
    return told(outputs, Topic.ORDERED_EVENTS, ORDERED_EVENT)


def names(outputs: list[Output]) -> list[str]:
    """The names under which the ordered events among these were built."""
    return [each.event.event_id.removeprefix("evt-") for each in ordered(outputs)]
