"""DECIDE at a desk: ordered events in, what it decided and ordered, and time that passes."""

from typing import Any

import msgspec

from processors.core.turn import Output
from processors.decide import build
from schemas.codec import to_json
from schemas.commands import (
    AUDIT_ENTRY,
    COMMAND,
    DECISION,
    AnyCommand,
    AskReply,
    AuditEntry,
    Decision,
    DeliveryFact,
    Withdraw,
)
from schemas.directory import Account, Directory, Inbox
from schemas.events import Kind, OrderedEvent, Position, ThreadEvent, Verdicts
from schemas.keys import (
    InboxId,
    MessageId,
    ReplyKey,
    ThreadKey,
    reply_key,
)
from schemas.settings import Settings
from schemas.topics import Topic
from tests.thread_events import a_thread_event
from tests.turns import Desk, told

HOUR_MS = 3600 * 1000
DAY_MS = 24 * HOUR_MS

INBOX = InboxId("support@inbox.example")
BILLING = InboxId("billing@inbox.example")
JANE = "Jane Roe <jane@customer.example>"
PASSED = Verdicts(spam="pass", virus="pass", dmarc="pass")


def a_directory(route: str = "send", **inboxes: Inbox) -> Directory:
    """Two inboxes of a workspace, both with this route, and any others."""
    ours = Inbox(workspace="acme", account="main", route=route)
    account = Account(provider="agentmail", base_url="http://127.0.0.1:1", api_key="KEY")
    return Directory(
        workspaces={"acme": {}},
        accounts={"main": account},
        inboxes={INBOX: ours, BILLING: ours, **inboxes},
    )


def a_mail(name: str = "m", **changes: Any) -> ThreadEvent:
    """A person's question, sent `at_ms` after NOW_MS."""
    words: dict[str, Any] = {
        "thread_key": ThreadKey("t"),
        "message_id": MessageId(f"{name}@mail.customer.example"),
        "provider_message_id": f"<{name}@mail.customer.example>",
        "sender": JANE,
        "recipient": INBOX,
        "to": (INBOX,),
        "subject": "Question",
        "text": "Hello",
        "signals": {},
        "labels": ("received", "unread"),
    }
    return a_thread_event(f"evt-{name}", **{"inbox_id": INBOX} | words | changes)


def a_fact(kind: str, name: str = "r", **changes: Any) -> ThreadEvent:
    """A fact about the message of ours with this name."""
    words: dict[str, Any] = {"inbox_id": INBOX, "message_id": MessageId(f"{name}@inbox.example")}
    return a_thread_event(f"{kind}-{name}", **{"kind": kind} | words | changes)


def a_reply_sent(to: str = "m", name: str = "r", **changes: Any) -> ThreadEvent:
    """SEND's news that the mail `to` was answered by the message `name`."""
    words: dict[str, Any] = {
        "reply_key": key_of(to),
        "thread_key": ThreadKey("t"),
        "text": "Our answer",
    }
    return a_fact(Kind.REPLY_SENT, name, **(words | changes))


def key_of(name: str) -> ReplyKey:
    """The reply key of the mail with this name."""
    return reply_key(INBOX, MessageId(f"{name}@mail.customer.example"))


def ordered(event: ThreadEvent, **changes: Any) -> OrderedEvent:
    """The event where its own time puts it."""
    position = Position(occurred_at_ns=event.occurred_at_ns, tie=event.message_id or event.event_id)
    return msgspec.structs.replace(
        OrderedEvent(event=event, position=position, released="opening"), **changes
    )


class Deciding:
    """One partition's DECIDE, and all that it has written."""

    def __init__(self, directory: Directory | None = None, **settings: int) -> None:
        self.desk = Desk()
        # The defaults, whatever the environment says.
        self.settings = Settings.model_construct(None, **settings)
        self.stage = build(self.settings, directory or a_directory())
        self.outputs: list[Output] = []

    def give(self, *events: ThreadEvent | OrderedEvent, mark: str | None = None) -> list[Output]:
        """Give it these events, one record each. Returns what it wrote for them."""
        before = len(self.outputs)
        for event in events:
            each = ordered(event) if isinstance(event, ThreadEvent) else event
            self.give_bytes(to_json(each), mark=mark)
        return self.outputs[before:]

    def give_bytes(self, value: bytes | None, *, mark: str | None = None) -> None:
        """Give it a record with this value."""
        record = self.desk.record(value, key=INBOX, mark=mark)
        turn = self.desk.turn(record)
        self.stage.on_record(record, turn)
        self.outputs += turn.outputs

    def redirect(self, directory: Directory) -> None:
        """Restart it with another directory and the state that it has."""
        self.stage = build(self.settings, directory)

    def wait(self, ms: int) -> None:
        """Let time pass; each timer rings when it is due."""
        self.desk.wait(ms, self.ring)

    def ring(self) -> None:
        """Ring the timers that are due, once."""
        for timer in self.desk.timers.take_due(self.desk.now_ms):
            turn = self.desk.turn()
            self.stage.on_timer(timer, turn)
            self.outputs += turn.outputs

    def rule(self, event: ThreadEvent | OrderedEvent, *, mark: str | None = None) -> str:
        """The rule by which it decides this mail."""
        return self.decision(event, mark=mark).rule

    def decision(self, event: ThreadEvent | OrderedEvent, *, mark: str | None = None) -> Decision:
        """Its one decision about this mail."""
        (decision,) = decisions(self.give(event, mark=mark))
        return decision


def decisions(outputs: list[Output]) -> list[Decision]:
    """The records on `decisions` among these."""
    return told(outputs, Topic.DECISIONS, DECISION)


def audits(outputs: list[Output]) -> list[AuditEntry]:
    """The records on `audit` among these."""
    return told(outputs, Topic.AUDIT, AUDIT_ENTRY)


def orders(outputs: list[Output]) -> list[AnyCommand]:
    """The records on `reply-commands` among these."""
    return told(outputs, Topic.REPLY_COMMANDS, COMMAND)


def asks(outputs: list[Output]) -> list[AskReply]:
    """The replies asked for among these."""
    return [each for each in orders(outputs) if isinstance(each, AskReply)]


def withdrawn(outputs: list[Output]) -> list[Withdraw]:
    """The replies withdrawn among these."""
    return [each for each in orders(outputs) if isinstance(each, Withdraw)]


def facts(outputs: list[Output]) -> list[DeliveryFact]:
    """The delivery facts told to SEND among these."""
    return [each for each in orders(outputs) if isinstance(each, DeliveryFact)]
