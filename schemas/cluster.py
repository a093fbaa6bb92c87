"""How every process speaks to the cluster: client options and topic creation.

Owns: the one producer configuration (partitioner included) and the one consumer configuration.
May not: hold a client beyond a call, or produce.
"""

import time
from collections.abc import Iterable
from concurrent.futures import Future
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from schemas.client_log import DEBUG, client_log
from schemas.differences import different_options
from schemas.errors import ClusterMismatch, Transient
from schemas.settings import Settings
from schemas.topics import MAX_DEAD_LETTER_BYTES, MAX_RECORD_BYTES, Topic, TopicSeen

LOCAL_BOOTSTRAP: Final = "127.0.0.1:9092"
ADMIN_DEADLINE_S: Final = 15.0
SHOWN_PAUSE_S: Final = 0.05

NOT_ALLOWED: Final = (
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
)
FORBIDDEN: Final = "its options may not be seen; give this user the right to DescribeConfigs on it"

Options = dict[str, Any]


def _common(settings: Settings) -> Options:
    return {
        "bootstrap.servers": settings.bootstrap_servers or LOCAL_BOOTSTRAP,
        "client.id": f"onereply-{settings.worker_name}",
        # A broker that comes back is found again within a second, not after ten.
        "reconnect.backoff.max.ms": 1_000,
        "logger": client_log(),
        "debug": DEBUG,
        **settings.kafka_options,
    }


def producer_config(settings: Settings) -> Options:
    """Options of a plain producer: idempotent, acked by all in-sync replicas, murmur2.

    librdkafka's own partitioner is CRC32, which disagrees with Java's and aiokafka's: the same
    key would live in two partitions. murmur2_random is Java's default.
    """
    return _common(settings) | {
        "partitioner": "murmur2_random",
        "enable.idempotence": True,
        "acks": "all",
        "compression.type": "lz4",
        "message.max.bytes": MAX_RECORD_BYTES,
        "linger.ms": 5,
        "queue.buffering.max.messages": 100_000,
        "queue.buffering.max.kbytes": 128 * 1024,
    }


def transactional_config(settings: Settings, transactional_id: str) -> Options:
    """Options of a stage's producer. Its id is stable, so a restart ends what it left open."""
    return producer_config(settings) | {
        "transactional.id": transactional_id,
        "transaction.timeout.ms": settings.transaction_timeout_ms,
        # Sizes are checked one by one before: here only a dead letter may be the largest.
        "message.max.bytes": MAX_DEAD_LETTER_BYTES,
        # One transaction is one flush: nothing is gained by lingering at its end.
        "linger.ms": 2,
        # After a commit the coordinator answers CONCURRENT_TRANSACTIONS for a moment; the default
        # of 100 ms between tries would be most of a hop's latency.
        "retry.backoff.ms": 3,
        "retry.backoff.max.ms": 250,
        "queue.buffering.max.messages": 1_000_000,
        "queue.buffering.max.kbytes": 512 * 1024,
    }


def consumer_config(settings: Settings, *, group: str) -> Options:
    """Options of a consumer that sees only what was committed and never jumps by itself."""
    return _common(settings) | {
        "group.id": group,
        "isolation.level": "read_committed",
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "auto.offset.reset": "error",
        # TLS or a lossless wire already guards the bytes; the check costs a tenth of the rate.
        "check.crcs": False,
        "fetch.message.max.bytes": MAX_RECORD_BYTES,
        # The broker answers as soon as a record is there, and asks are repeated without a pause.
        "fetch.wait.max.ms": 100,
        "fetch.error.backoff.ms": 50,
        "allow.auto.create.topics": False,
    }


def admin(settings: Settings) -> AdminClient:
    """An admin client; the caller drops it."""
    return AdminClient(_common(settings) | {"log_level": 0})


def cluster_id_of(settings: Settings) -> str:
    """The id that the cluster gave itself. Raises Transient."""
    try:
        listed = admin(settings).list_topics(timeout=ADMIN_DEADLINE_S)
    except KafkaException as error:
        raise Transient(f"broker does not answer: {error}") from error
    return str(listed.cluster_id)


def seen_topics(client: AdminClient, settings: Settings) -> dict[str, TopicSeen]:
    """What the cluster says about those of our topics that it has.

    Raises Transient, or ClusterMismatch when this user may not ask.
    """
    shape = settings.shape()
    try:
        listed = client.list_topics(timeout=ADMIN_DEADLINE_S).topics
        names = [name for name in map(shape.name, Topic) if name in listed]
        configs = _configs(client, names)
    except KafkaException as error:
        raise Transient(f"broker does not answer: {error}") from error
    return {
        name: TopicSeen(
            partitions=len(listed[name].partitions),
            replication=min(
                (len(each.replicas) for each in listed[name].partitions.values()), default=0
            ),
            config=configs[name],
        )
        for name in configs
    }


def _configs(client: AdminClient, names: Iterable[str]) -> dict[str, dict[str, str]]:
    resources = [ConfigResource(ResourceType.TOPIC, name) for name in names]
    if not resources:
        return {}
    answers = client.describe_configs(resources, request_timeout=ADMIN_DEADLINE_S)
    configs, forbidden = {}, []
    for resource, future in answers.items():
        try:
            configs[resource.name] = {each.name: each.value for each in future.result().values()}
        except KafkaException as error:
            code = error.args[0].code()
            if code in NOT_ALLOWED:
                forbidden.append(f"{resource.name}: {FORBIDDEN}")
            # Deleted between the list and this question: it is not there.
            elif code != KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise
    if forbidden:
        raise ClusterMismatch(forbidden)
    return configs


def create_topics(settings: Settings) -> list[str]:
    """Create the topics that are missing and set the options that differ; name what was done.

    Returns once the broker shows them so. Safe to repeat. Never changes a partition or replica
    count. Raises Transient, or ClusterMismatch when this user may not ask.
    """
    client, shape = admin(settings), settings.shape()
    seen = seen_topics(client, settings)
    missing = [topic for topic in Topic if shape.name(topic) not in seen]
    try:
        created = _create(client, settings, missing)
        changed = _align(client, settings, seen)
    except KafkaException as error:
        raise Transient(f"topics could not be made: {error}") from error
    if created or changed:
        _await_shown(client, settings)
    return [f"{name}: created" for name in created] + [f"{name}: options set" for name in changed]


def _create(client: AdminClient, settings: Settings, missing: list[Topic]) -> list[str]:
    shape = settings.shape()
    if not missing:
        return []
    futures: dict[str, Future[None]] = client.create_topics(
        [
            NewTopic(
                shape.name(topic),
                num_partitions=shape.partitions_of(topic),
                replication_factor=shape.replication,
                config=shape.config_of(topic),
            )
            for topic in missing
        ],
        request_timeout=ADMIN_DEADLINE_S,
    )
    return sorted(name for name, future in futures.items() if _is_created(future))


def _is_created(future: "Future[None]") -> bool:
    """Whether we made it; False when it was there already."""
    try:
        future.result()
    except KafkaException as error:
        if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise
        return False
    return True


def _await_shown(client: AdminClient, settings: Settings) -> None:
    """Return when the broker shows every topic with its options.

    The controller answers when it has written a change down, and a broker shows it when it has
    read it: on a busy machine a process that starts in between would find its topics missing.
    """
    shape, give_up_at_s = settings.shape(), time.monotonic() + ADMIN_DEADLINE_S
    names = {shape.name(topic): topic for topic in Topic}
    while True:
        seen = seen_topics(client, settings)
        if all(
            name in seen and not different_options(shape, topic, seen[name])
            for name, topic in names.items()
        ):
            return
        if time.monotonic() >= give_up_at_s:
            raise Transient("topics were made, and the broker does not show them yet")
        time.sleep(SHOWN_PAUSE_S)


def _align(client: AdminClient, settings: Settings, seen: dict[str, TopicSeen]) -> list[str]:
    shape = settings.shape()
    resources = []
    for topic in Topic:
        name = shape.name(topic)
        if name not in seen:
            continue
        if different := different_options(shape, topic, seen[name]):
            entries = [
                ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
                for key, value in different
            ]
            resources.append(ConfigResource(ResourceType.TOPIC, name, incremental_configs=entries))
    if not resources:
        return []
    for future in client.incremental_alter_configs(resources).values():
        future.result()
    return [resource.name for resource in resources]
