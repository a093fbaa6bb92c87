"""Every topic, once, as data: name, key, cleanup, retention, partitions, writers, readers, why.

Owns: what the cluster must look like.
May not: talk to a cluster.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypedDict, Unpack

DAY_MS: Final = 24 * 3600 * 1000
# Topics, producers and fetchers take records of up to 4 MiB; design sizes stay far below it.
MAX_RECORD_BYTES: Final = 4 * 1024 * 1024
# The largest record must still fit when it is set aside, with where and why written beside it.
MAX_DEAD_LETTER_BYTES: Final = MAX_RECORD_BYTES + 64 * 1024
# The option that says how many copies must hold a record before it is acked.
MIN_INSYNC: Final = "min.insync.replicas"
# Bodies and normalised events stand inline in a record up to this size.
INLINE_LIMIT_BYTES: Final = 512 * 1024
THREAD_CONTEXT_LIMIT_BYTES: Final = 256 * 1024


class Topic(StrEnum):
    """Topics by their bare names; a prefix may stand before them on the cluster."""

    INBOUND_EVENTS = "inbound-events"
    FETCH_REQUESTS = "fetch-requests"
    THREAD_EVENTS = "thread-events"
    ORDERED_EVENTS = "ordered-events"
    DUPLICATE_EVENTS = "duplicate-events"
    DECISIONS = "decisions"
    REPLY_COMMANDS = "reply-commands"
    WRITER_REQUESTS = "writer-requests"
    REPLY_RECEIPTS = "reply-receipts"
    AUDIT = "audit"
    REFUSED_DELIVERIES = "refused-deliveries"
    DEAD_LETTERS = "dead-letters"
    CONTROL = "control"
    DEDUPE_STATE = "dedupe-state"
    FETCH_STATE = "fetch-state"
    REORDER_STATE = "reorder-state"
    DECIDE_STATE = "decide-state"
    SEND_STATE = "send-state"


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSpec:
    """One topic's declaration. `retention_ms` is None where only compaction removes records."""

    name: Topic
    key: str
    cleanup: str
    retention_ms: int | None
    writers: str
    readers: str
    why: str
    compaction_lag_ms: tuple[int, int] | None = None
    delete_retention_ms: int | None = None
    is_partitioned: bool = True
    max_bytes: int = MAX_RECORD_BYTES

    def config(self) -> dict[str, str]:
        """The topic's settings as Kafka names them, all of them compared at start."""
        wanted = {
            "cleanup.policy": self.cleanup,
            "message.timestamp.type": "LogAppendTime",
            "max.message.bytes": str(self.max_bytes),
            # A segment of at most a day: retention and compaction look at closed segments only.
            "segment.ms": str(DAY_MS),
            "retention.ms": str(-1 if self.retention_ms is None else self.retention_ms),
            "unclean.leader.election.enable": "false",
        }
        if self.compaction_lag_ms is not None:
            low, high = self.compaction_lag_ms
            wanted["min.compaction.lag.ms"] = str(low)
            wanted["max.compaction.lag.ms"] = str(high)
        if self.delete_retention_ms is not None:
            wanted["delete.retention.ms"] = str(self.delete_retention_ms)
        return wanted


class _Words(TypedDict):
    writers: str
    readers: str
    why: str


def _deleted(name: Topic, key: str, days: int, **words: Unpack[_Words]) -> TopicSpec:
    return TopicSpec(name=name, key=key, cleanup="delete", retention_ms=days * DAY_MS, **words)


def _state(name: Topic, stage: str) -> TopicSpec:
    return TopicSpec(
        name=name,
        key="state key",
        cleanup="compact",
        retention_ms=None,
        # A store that was away for longer than half of this is rebuilt: deletions may be gone.
        delete_retention_ms=3 * DAY_MS,
        writers=stage,
        readers=stage,
        why=f"the changelog from which {stage} rebuilds its state",
    )


TOPICS: Final[dict[Topic, TopicSpec]] = {
    spec.name: spec
    for spec in (
        TopicSpec(
            name=Topic.INBOUND_EVENTS,
            key="source/event_id",
            cleanup="compact,delete",
            retention_ms=30 * DAY_MS,
            compaction_lag_ms=(7 * DAY_MS, 8 * DAY_MS),
            writers="ingest, fetch",
            readers="dedupe",
            why="all that came from outside, byte for byte",
        ),
        _deleted(
            Topic.FETCH_REQUESTS,
            "source/event_id",
            7,
            writers="dedupe",
            readers="fetch",
            why="events whose mail must be read from the provider",
        ),
        _deleted(
            Topic.THREAD_EVENTS,
            "inbox_id",
            7,
            writers="dedupe, send",
            readers="reorder",
            why="normalised events and facts about our own replies",
        ),
        _deleted(
            Topic.ORDERED_EVENTS,
            "inbox_id",
            30,
            writers="reorder",
            readers="decide, data teams",
            why="normalised events with their place in the thread: the clean public topic",
        ),
        _deleted(
            Topic.DUPLICATE_EVENTS,
            "source/event_id",
            7,
            writers="dedupe, reorder",
            readers="operators",
            why="what was dropped, why, and the first sighting",
        ),
        TopicSpec(
            name=Topic.DECISIONS,
            key="reply_key",
            cleanup="compact,delete",
            retention_ms=400 * DAY_MS,
            writers="decide",
            readers="operators, data teams",
            why="one record a message: what was decided and the rule that fired",
        ),
        _deleted(
            Topic.REPLY_COMMANDS,
            "inbox_id",
            7,
            writers="decide, write, console, command line",
            readers="send",
            why="orders about one reply",
        ),
        _deleted(
            Topic.WRITER_REQUESTS,
            "reply_key",
            7,
            writers="send",
            readers="write",
            why="asks for a reply's text, with the thread",
        ),
        TopicSpec(
            name=Topic.REPLY_RECEIPTS,
            key="reply_key",
            cleanup="compact,delete",
            retention_ms=400 * DAY_MS,
            writers="send",
            readers="operators, data teams",
            why="what came of a reply",
        ),
        _deleted(
            Topic.AUDIT,
            "subject",
            400,
            writers="every stage, console, command line",
            readers="operators",
            why="who did what, when, before, after and why; append only",
        ),
        _deleted(
            Topic.REFUSED_DELIVERIES,
            "source",
            3,
            writers="ingest",
            readers="operators",
            why="scrubbed requests that the door refused; written only when a source asks for it",
        ),
        TopicSpec(
            name=Topic.DEAD_LETTERS,
            key="origin key",
            cleanup="delete",
            retention_ms=30 * DAY_MS,
            max_bytes=MAX_DEAD_LETTER_BYTES,
            writers="every stage",
            readers="operators",
            why="records set aside, with where and why",
        ),
        TopicSpec(
            name=Topic.CONTROL,
            key="switch name",
            cleanup="compact",
            retention_ms=None,
            writers="console, command line",
            readers="send",
            why="switches, such as sends stopped for all or for one inbox",
            is_partitioned=False,
        ),
        _state(Topic.DEDUPE_STATE, "dedupe"),
        _state(Topic.FETCH_STATE, "fetch"),
        _state(Topic.REORDER_STATE, "reorder"),
        _state(Topic.DECIDE_STATE, "decide"),
        _state(Topic.SEND_STATE, "send"),
    )
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSeen:
    """What a cluster says about one topic."""

    partitions: int
    replication: int
    config: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How this installation's topics are laid out on its cluster."""

    prefix: str
    partitions: int
    replication: int
    min_insync: int

    def name(self, topic: Topic) -> str:
        """The topic's name on the cluster."""
        return f"{self.prefix}{topic}"

    def partitions_of(self, topic: Topic) -> int:
        """How many partitions the topic has."""
        return self.partitions if TOPICS[topic].is_partitioned else 1

    def config_of(self, topic: Topic) -> dict[str, str]:
        """The topic's settings on this cluster."""
        return TOPICS[topic].config() | {MIN_INSYNC: str(self.min_insync)}
