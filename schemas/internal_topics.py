"""Kafka's own topics that our promises rest on: transactions and committed offsets.

Owns: which they are, what shapes them, and the comparison with what the settings promise.
May not: talk to a cluster. What could not be seen is said, and is no difference.
"""

from dataclasses import dataclass
from typing import Final

from schemas.topics import MIN_INSYNC, Shape

_OR_LESS: Final = "or set ONEREPLY_DURABILITY=single-node if losing data is fine"


@dataclass(frozen=True, slots=True, kw_only=True)
class InternalTopic:
    """A topic that brokers make when it is first needed, by two options of theirs."""

    name: str
    replication_option: str
    min_insync_option: str


INTERNAL_TOPICS: Final = (
    InternalTopic(
        name="__transaction_state",
        replication_option="transaction.state.log.replication.factor",
        min_insync_option="transaction.state.log.min.isr",
    ),
    # It has no option of its own for this and goes by what holds for all topics.
    InternalTopic(
        name="__consumer_offsets",
        replication_option="offsets.topic.replication.factor",
        min_insync_option=MIN_INSYNC,
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Copies:
    """How many copies there are, and how many must hold a record. None: could not be seen."""

    replication: int | None
    min_insync: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class InternalSeen:
    """What a cluster says: topics that exist, by their names; else what each broker would make."""

    existing: dict[str, Copies]
    planned: dict[str, tuple[Copies, ...]]
    brokers: int
    unseen: tuple[str, ...] = ()


def internal_differences(shape: Shape, seen: InternalSeen) -> list[str]:
    """One line for each way in which Kafka's own topics keep less than we promise."""
    lines: list[str] = []
    for topic in INTERNAL_TOPICS:
        if topic.name in seen.existing:
            lines += _of_existing(topic.name, shape, seen.existing[topic.name])
        else:
            lines += _of_planned(topic, shape, seen)
    return lines


def _of_existing(name: str, shape: Shape, copies: Copies) -> list[str]:
    lines = []
    if copies.replication is not None and copies.replication < shape.replication:
        lines.append(
            f"{name}: {copies.replication} replicas, {shape.replication} are needed; "
            f"reassign its replicas, {_OR_LESS}"
        )
    if copies.min_insync is not None and copies.min_insync < shape.min_insync:
        lines.append(
            f"{name}: {MIN_INSYNC} is {copies.min_insync}, {shape.min_insync} is needed; "
            f"set {MIN_INSYNC}={shape.min_insync} on it with kafka-configs.sh, {_OR_LESS}"
        )
    if _is_blocked(copies):
        lines.append(
            f"{name}: {MIN_INSYNC} is {copies.min_insync} of {copies.replication} replicas, so "
            f"nothing can be written; set {MIN_INSYNC} on it with kafka-configs.sh to no more"
        )
    return lines


def _of_planned(topic: InternalTopic, shape: Shape, seen: InternalSeen) -> list[str]:
    planned = seen.planned.get(topic.name, ())
    copies = [each.replication for each in planned if each.replication is not None]
    insync = [each.min_insync for each in planned if each.min_insync is not None]
    lines = []
    if copies and min(copies) < shape.replication:
        lines.append(
            f"{topic.name}: would be made with {min(copies)} replicas, {shape.replication} are "
            f"needed; set {topic.replication_option}={shape.replication} on every broker, "
            f"{_OR_LESS}"
        )
    if insync and min(insync) < shape.min_insync:
        lines.append(
            f"{topic.name}: would be made with {MIN_INSYNC} {min(insync)}, {shape.min_insync} is "
            f"needed; set {topic.min_insync_option}={shape.min_insync} on every broker, {_OR_LESS}"
        )
    if copies and max(copies) > seen.brokers:
        lines.append(
            f"{topic.name}: cannot be made with {max(copies)} replicas on {seen.brokers} "
            f"brokers; start more, or set {topic.replication_option} to no more on every broker"
        )
    elif any(map(_is_blocked, planned)):
        lines.append(
            f"{topic.name}: would be made so that nothing can be written; set "
            f"{topic.min_insync_option} to no more than {topic.replication_option} on every broker"
        )
    return lines


def _is_blocked(copies: Copies) -> bool:
    if copies.replication is None or copies.min_insync is None:
        return False
    return copies.min_insync > copies.replication
