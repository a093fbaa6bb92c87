"""Inbound records as the door writes them, and a partition of DEDUPE on a dict."""

from typing import Any

from processors.core.dedupe import Dedupe
from processors.core.intake import Intake, Sources
from processors.core.turn import Output, Record
from processors.dedupe import READERS
from processors.providers import agentmail
from schemas.directory import parse_directory
from schemas.events import DUPLICATE, THREAD_EVENT, Duplicate, ThreadEvent, Where
from schemas.headers import PROVIDER, RECEIVED_AT
from schemas.keys import EventId, EventKey, SourceName
from schemas.topics import Topic
from tests.payloads import a_mail_body
from tests.turns import NOW_MS, Desk, told

HORIZON_MS = 7 * 24 * 3600 * 1000
DIRECTORY = parse_directory("""
[workspaces.main]
[workspaces.other]
[inboxes."support@inbox.example"]
workspace = "main"
account = "mail"
[inboxes."billing@inbox.example"]
workspace = "main"
[inboxes."theirs@inbox.example"]
workspace = "other"
[sources.support]
provider = "agentmail"
workspace = "main"
secrets = ["SECRET"]
[accounts.mail]
provider = "agentmail"
base_url = "https://api.provider.example"
api_key = "MAIL_KEY"
""")
INTAKE = Intake(
    event_key=EventKey("support/evt_1"),
    event_id=EventId("evt_1"),
    source=SourceName("support"),
    provider="agentmail",
    workspace="main",
    received_at_ms=NOW_MS,
    origin=Where(topic="inbound-events", partition=0, offset=0),
)


def read(body: bytes, **known: Any) -> ThreadEvent:
    """The event in AgentMail's body, by the adapter alone."""
    return agentmail.read(body, INTAKE._replace(**known))


def read_mail(**members: Any) -> ThreadEvent:
    """The event of a received mail with these members in the message."""
    return read(a_mail_body(**members))


class Inbound:
    """One partition of DEDUPE: records go in, outputs come out, rows stay."""

    def __init__(self) -> None:
        self.desk = Desk()
        self.dedupe = Dedupe(Sources(DIRECTORY), READERS, horizon_ms=HORIZON_MS)

    def record(
        self, body: bytes | None, *, event_id: str = "evt_1", at: int | None = None
    ) -> Record:
        """The next record at the door, or the one that stood at this offset, read again."""
        made = self.desk.record(body, key=f"support/{event_id}")
        headers = ((RECEIVED_AT, b"%d" % self.desk.now_ms), (PROVIDER, b"agentmail"))
        record = made._replace(topic="inbound-events", headers=headers)
        if at is None:
            return record
        self.desk.offset -= 1
        return record._replace(offset=at, mark="replay-1")

    def take(self, record: Record) -> list[Output]:
        """What the stage writes for this record."""
        turn = self.desk.turn(record)
        self.dedupe.on_record(record, turn)
        return turn.outputs

    def bring(
        self, body: bytes | None, *, event_id: str = "evt_1", at: int | None = None
    ) -> list[Output]:
        """What the stage writes for the record that `record` makes of these."""
        return self.take(self.record(body, event_id=event_id, at=at))


def topics_of(outputs: list[Output]) -> list[str]:
    """Where the outputs went, in order."""
    return [str(each.topic) for each in outputs]


def events_in(outputs: list[Output]) -> list[ThreadEvent]:
    """The events that were passed on."""
    return told(outputs, Topic.THREAD_EVENTS, THREAD_EVENT)


def duplicates_in(outputs: list[Output]) -> list[Duplicate]:
    """What was said to be dropped."""
    return told(outputs, Topic.DUPLICATE_EVENTS, DUPLICATE)
