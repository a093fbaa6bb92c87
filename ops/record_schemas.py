"""JSON Schemas of the records on our topics, from the types that read and write them.

Owns: which type lies on which topic, and the files' layout.
May not: describe a record in words of its own.
"""

import sys
from typing import Any, Final

import msgspec

from ops.generated import ROOT, Files, write_or_check
from schemas.commands import AnyCommand, AuditEntry, Decision, Receipt, Switch, WriteRequest
from schemas.events import Duplicate, FetchRequest, OrderedEvent, ThreadEvent
from schemas.topics import TOPICS, Topic

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

RECORDS: Final[dict[Topic, Any]] = {
    Topic.FETCH_REQUESTS: FetchRequest,
    Topic.THREAD_EVENTS: ThreadEvent,
    Topic.ORDERED_EVENTS: OrderedEvent,
    Topic.DUPLICATE_EVENTS: Duplicate,
    Topic.DECISIONS: Decision,
    Topic.REPLY_COMMANDS: AnyCommand,
    Topic.WRITER_REQUESTS: WriteRequest,
    Topic.REPLY_RECEIPTS: Receipt,
    Topic.AUDIT: AuditEntry,
    Topic.CONTROL: Switch,
}

# Topics without a schema of ours, and why.
WITHOUT: Final[dict[Topic, str]] = {
    Topic.INBOUND_EVENTS: "a provider's own bytes",
    Topic.REFUSED_DELIVERIES: "a stranger's bytes",
    Topic.DEAD_LETTERS: "the bytes of the record that was set aside",
    Topic.DEDUPE_STATE: "private rows of dedupe",
    Topic.FETCH_STATE: "private rows of fetch",
    Topic.REORDER_STATE: "private rows of reorder",
    Topic.DECIDE_STATE: "private rows of decide",
    Topic.SEND_STATE: "private rows of send",
}


def files() -> Files:
    """One file a topic, as it should be."""
    return {
        ROOT / "schemas" / f"{topic}.schema.json": _text(topic, record)
        for topic, record in RECORDS.items()
    }


def _text(topic: Topic, record: Any) -> str:
    spec = TOPICS[topic]
    schema = {
        "$schema": DIALECT,
        "title": str(topic),
        "description": f"A record's value on {topic} (key: {spec.key}): {spec.why}.",
        **msgspec.json.schema(record),
    }
    return msgspec.json.format(msgspec.json.encode(schema), indent=2).decode() + "\n"


if __name__ == "__main__":
    sys.exit(write_or_check(files(), sys.argv[1:], command="python -m ops.record_schemas"))
