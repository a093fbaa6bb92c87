"""The start-up check: what a process looks at before it reads or writes anything.

Owns: which of the cluster's answers count, and how long a process waits for a broker.
May not: change anything on the cluster.
"""

import logging
import time
from threading import Event
from typing import Final

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType, TopicMetadata

from schemas.cluster import ADMIN_DEADLINE_S, LOCAL_BOOTSTRAP, NOT_ALLOWED, admin, seen_topics
from schemas.differences import differences
from schemas.errors import ClusterMismatch, Transient
from schemas.internal_topics import (
    INTERNAL_TOPICS,
    Copies,
    InternalSeen,
    InternalTopic,
    internal_differences,
)
from schemas.settings import Settings
from schemas.topics import MIN_INSYNC

# A broker on the same machine needs seconds to start; whoever supervises us tries again after.
BROKER_WAIT_S: Final = 60.0
BROKER_PAUSE_S: Final = 1.0
LOG: Final = logging.getLogger(__name__)


def wait_for_cluster(settings: Settings, stopping: Event) -> None:
    """Return once the cluster answers and is as declared, or at once when told to stop.

    Raises Transient when the broker stays away for a minute, ClusterMismatch when it differs.
    """
    give_up_at_s = time.monotonic() + BROKER_WAIT_S
    while not stopping.is_set():
        try:
            return check_cluster(settings)
        except Transient as error:
            if time.monotonic() >= give_up_at_s:
                raise
            servers = settings.bootstrap_servers or LOCAL_BOOTSTRAP
            LOG.warning("broker awaited", extra={"servers": servers, "reason": str(error)})
            stopping.wait(BROKER_PAUSE_S)
    return None


def check_cluster(settings: Settings) -> None:
    """Return when the cluster is what we declare.

    Raises ClusterMismatch with every difference, or Transient when the broker is away.
    """
    client, shape = admin(settings), settings.shape()
    found = differences(shape, seen_topics(client, settings))
    internal = seen_internal(client)
    for each in internal.unseen:
        LOG.warning("copies of Kafka's own topics not checked", extra={"reason": each})
    if found := found + internal_differences(shape, internal):
        raise ClusterMismatch(found)


def seen_internal(client: AdminClient) -> InternalSeen:
    """What the cluster says about Kafka's own topics, or about making them. Raises Transient.

    What this user may not ask for is left out and named: it is not everybody's to see.
    """
    unseen: list[str] = []
    try:
        listed = client.list_topics(timeout=ADMIN_DEADLINE_S)
        there = [topic for topic in INTERNAL_TOPICS if topic.name in listed.topics]
        absent = [topic for topic in INTERNAL_TOPICS if topic not in there]
        existing = {
            topic.name: Copies(
                replication=_replication(listed.topics[topic.name]),
                min_insync=_number(
                    _config(client, ResourceType.TOPIC, topic.name, unseen=unseen), MIN_INSYNC
                ),
            )
            for topic in there
        }
        configs = [
            _config(client, ResourceType.BROKER, str(number), unseen=unseen)
            for number in (listed.brokers if absent else ())
        ]
    except KafkaException as error:
        raise Transient(f"broker does not answer: {error}") from error
    return InternalSeen(
        existing=existing,
        planned={topic.name: tuple(_planned(topic, each) for each in configs) for topic in absent},
        brokers=len(listed.brokers),
        unseen=tuple(unseen),
    )


def _replication(topic: TopicMetadata) -> int | None:
    return min((len(each.replicas) for each in topic.partitions.values()), default=None)


def _planned(topic: InternalTopic, config: dict[str, str]) -> Copies:
    return Copies(
        replication=_number(config, topic.replication_option),
        min_insync=_number(config, topic.min_insync_option),
    )


def _config(
    client: AdminClient, kind: ResourceType, name: str, *, unseen: list[str]
) -> dict[str, str]:
    resource = ConfigResource(kind, name)
    future = client.describe_configs([resource], request_timeout=ADMIN_DEADLINE_S)[resource]
    try:
        return {each.name: each.value for each in future.result().values()}
    except KafkaException as error:
        if error.args[0].code() not in NOT_ALLOWED:
            raise
        unseen.append(f"no right to describe the configs of {kind.name.lower()} {name}")
        return {}


def _number(config: dict[str, str], option: str) -> int | None:
    value = config.get(option) or ""
    return int(value) if value.isdecimal() else None
