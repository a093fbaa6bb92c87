"""What is known of an inbound record before its body is read, and whom its source may speak for.

Owns: the reading of a record's key and headers, and the check of workspaces behind the door.
May not: read a body.
"""

from typing import Any, Final, NamedTuple

from processors.core.turn import Record
from schemas.directory import Directory
from schemas.errors import Refused
from schemas.events import ThreadEvent, Where
from schemas.headers import PROVIDER, RECEIVED_AT, header
from schemas.keys import (
    MAX_EVENT_ID_BYTES,
    MAX_SOURCE_BYTES,
    EventId,
    EventKey,
    InboxId,
    SourceName,
    canonical_id,
)

# The door's own limits, a slash, and room for what stands before a source name ("fetch:").
MAX_KEY_BYTES: Final = MAX_EVENT_ID_BYTES + MAX_SOURCE_BYTES + 64


class Intake(NamedTuple):
    """Where a body came from, and under which name."""

    event_key: EventKey
    event_id: EventId
    source: SourceName
    provider: str
    workspace: str
    received_at_ms: int
    origin: Where
    # Read from the provider's API instead of pushed: nothing was left out for its size.
    is_read_back: bool = False

    def no_inbox(self) -> InboxId:
        """The name under which an event of no inbox stands: no address has this form."""
        return InboxId(f"source:{self.source}")

    def fields(self) -> dict[str, Any]:
        """The fields of the event that do not depend on the body."""
        return {
            "event_key": self.event_key,
            "event_id": self.event_id,
            "source": self.source,
            "provider": self.provider,
            "workspace": self.workspace,
            "received_at_ms": self.received_at_ms,
            "origin": self.origin,
        }


def event_key_of(record: Record) -> EventKey:
    """The record's key as an event key. Raises Refused where it is none."""
    if not record.key or len(record.key) > MAX_KEY_BYTES:
        raise Refused("no event key, or one that is too long")
    try:
        return EventKey(record.key.decode())
    except UnicodeDecodeError as error:
        raise Refused("event key is not UTF-8") from error


def place_of(record: Record) -> Where:
    """The record's address in the log."""
    return Where(topic=record.topic, partition=record.partition, offset=record.offset)


class Sources:
    """What the configuration says of each source. A name that it does not hold is refused."""

    def __init__(self, directory: Directory) -> None:
        self._sources = directory.sources
        self._inboxes = {
            name: frozenset(canonical_id(each) for each in directory.inboxes_of(source))
            for name, source in directory.sources.items()
        }

    def intake_of(self, record: Record, key: EventKey) -> Intake:
        """What key and headers say. Raises Refused for what no source of ours could have sent."""
        said_by, _, event_id = key.partition("/")
        # What reads mails back writes "fetch:support/..." for what "support" had announced.
        reader, _, name = said_by.rpartition(":")
        source = self._sources.get(name)
        if source is None:
            raise Refused(f"source {name} is not configured")
        if not event_id:
            raise Refused("no event id in the key")
        return Intake(
            key,
            EventId(event_id),
            SourceName(name),
            header(record.headers, PROVIDER) or source.provider,
            source.workspace,
            _received_at_ms(record),
            place_of(record),
            bool(reader),
        )

    def check(self, event: ThreadEvent, intake: Intake) -> None:
        """Raise Refused where the event's source does not speak for the event's inbox."""
        inboxes = self._inboxes[intake.source]
        if event.inbox_id not in inboxes and event.inbox_id != intake.no_inbox():
            raise Refused("wrong-workspace: the source does not speak for this inbox")


def _received_at_ms(record: Record) -> int:
    """When our endpoint had the bytes; the broker's time where nobody said."""
    said = header(record.headers, RECEIVED_AT)
    if said is None or not said.isdecimal() or not said.isascii():
        return record.timestamp_ms
    return int(said)
