"""What a stage stands on: its topics on this cluster, and the stores built from them.

Owns: when a store is rebuilt, and that one of another cluster is never used.
May not: read or write a row.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from confluent_kafka import IsolationLevel, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from processors.runtime.clock import wall_ms
from processors.runtime.rows import FORMAT, META_KEY, StoreMeta
from processors.runtime.store import Store, StoreCache, empty_store, open_store
from schemas.errors import ClusterMismatch, Transient
from schemas.settings import Settings
from schemas.topics import TOPICS, Topic

LOG = logging.getLogger("processors.ground")

ASK_DEADLINE_S: Final = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What a stage stands on: its topics on this cluster, and their ids."""

    stage: str
    cluster_id: str
    input: str
    input_id: str
    changelog: str
    changelog_id: str
    state_dir: Path


def ground_of(
    client: AdminClient, settings: Settings, *, stage: str, topics: Mapping[str, str]
) -> Ground:
    """Ask the cluster what this stage stands on. `topics`: input and changelog by bare name.

    Raises Transient while the broker does not answer.
    """
    shape = settings.shape()
    names = {role: shape.name(Topic(topic)) for role, topic in topics.items()}
    try:
        cluster = client.describe_cluster(request_timeout=ASK_DEADLINE_S).result()
        described = _describe(client, list(names.values()))
    except KafkaException as error:
        raise Transient(f"broker does not say what its topics are: {error.args[0]}") from error
    return Ground(
        stage=stage,
        cluster_id=cluster.cluster_id,
        input=names["input"],
        input_id=described[names["input"]],
        changelog=names["changelog"],
        changelog_id=described[names["changelog"]],
        state_dir=Path(settings.data_dir)
        / "state"
        / f"{settings.topic_prefix}{stage}"
        / settings.worker_name,
    )


def changelog_end(client: AdminClient, ground: Ground, number: int) -> int:
    """One past the last record of the changelog partition, open transactions included."""
    place = TopicPartition(ground.changelog, number)
    # The client answers from what it remembers of leaders, and a broker that was away refuses that.
    client.list_topics(ground.changelog, ASK_DEADLINE_S)
    asked = client.list_offsets(
        {place: OffsetSpec.latest()},  # type: ignore[no-untyped-call]  # the library types it not
        isolation_level=IsolationLevel.READ_UNCOMMITTED,
        request_timeout=ASK_DEADLINE_S,
    )
    end: int = asked[place].result().offset
    return end


def store_of(
    ground: Ground, number: int, *, end: int, cache: StoreCache
) -> tuple[Store, StoreMeta]:
    """The partition's store and where it stands; emptied when it cannot be built upon.

    `end` is one past the changelog's last record. Raises ClusterMismatch for a store that was built
    on another cluster or another topic: it may be the only copy, so a person decides.
    """
    path = ground.state_dir / str(number)
    store, damage = open_store(path, cache)
    meta = store.meta()
    if meta is not None and (stranger := _why_refuse(path, meta, ground)):
        store.close()
        raise ClusterMismatch([stranger])
    reason = damage or _why_rebuild(store, meta, end=end)
    if reason is not None and damage is None:
        store.close()
        empty_store(path)
        store = Store(path, cache)
    if reason is not None:
        LOG.warning("store rebuilt", extra={"partition": number, "reason": reason})
        meta = None
    return store, meta or StoreMeta(
        format=FORMAT,
        cluster_id=ground.cluster_id,
        changelog_id=ground.changelog_id,
        next_changelog=0,
        live_at_ms=wall_ms(),
    )


def _describe(client: AdminClient, names: list[str]) -> dict[str, str]:
    answers = client.describe_topics(TopicCollection(names), request_timeout=ASK_DEADLINE_S)
    return {name: str(future.result().topic_id) for name, future in answers.items()}


def _why_refuse(path: Path, meta: StoreMeta, ground: Ground) -> str | None:
    if meta.cluster_id != ground.cluster_id:
        return (
            f"store {path} belongs to cluster {meta.cluster_id}, which is not this one; point "
            "ONEREPLY_DATA_DIR elsewhere, or remove the store if its cluster is gone"
        )
    if meta.changelog_id != ground.changelog_id:
        return (
            f"{ground.changelog} was recreated, and store {path} was built on the topic that it "
            "was before; bring that topic back, or remove the store to begin anew: what it knows "
            "is then forgotten, and events that come again count as new"
        )
    return None


def _why_rebuild(store: Store, meta: StoreMeta | None, *, end: int) -> str | None:
    if meta is None:
        is_empty = next(iter(store.scan(b"", META_KEY)), None) is None
        return None if is_empty else "it does not say where it stands"
    if meta.format != FORMAT:
        return f"format {meta.format}, this is {FORMAT}"
    if meta.next_changelog > end:
        return f"it stands at {meta.next_changelog}, and its changelog ends at {end}"
    kept_ms = TOPICS[Topic.DEDUPE_STATE].delete_retention_ms or 0
    away_ms = wall_ms() - meta.live_at_ms
    if away_ms < -kept_ms // 2:
        return "it was live when this host's clock says is yet to come, so its age is not known"
    if away_ms > kept_ms // 2:
        return "away for longer than half of what its changelog keeps deletions"
    return None
