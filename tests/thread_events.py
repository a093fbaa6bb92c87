"""Thread events for the tests of the stages: valid ones; a test states what is different."""

from typing import Any

from schemas.events import Kind, ThreadEvent
from schemas.keys import EventId, EventKey, InboxId, SourceName
from tests.turns import NOW_MS


def a_thread_event(event_id: str, /, *, inbox_id: InboxId, **changes: Any) -> ThreadEvent:
    """A received mail, sent and received at NOW_MS or `at_ms` later; or the event of a `kind`."""
    at_ms = NOW_MS + changes.pop("at_ms", 0)
    fields: dict[str, Any] = {
        "kind": Kind.RECEIVED,
        "event_key": EventKey(f"src/{event_id}"),
        "event_id": EventId(event_id),
        "source": SourceName("src"),
        "provider": "agentmail",
        "workspace": "acme",
        "inbox_id": inbox_id,
        "occurred_at_ns": at_ms * 1_000_000,
        "received_at_ms": at_ms,
    }
    return ThreadEvent(**fields | changes)
