from collections.abc import Callable

import pytest
from confluent_kafka.admin import (
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    ResourceType,
)

from ops.kafka.process import until
from schemas.cluster import admin, create_topics, seen_topics
from schemas.errors import ClusterMismatch, Transient
from schemas.settings import Settings
from schemas.startup import check_cluster
from schemas.topics import Topic, TopicSeen
from tests.logs import corner

DEADLINE_S = 30.0


@pytest.fixture
def settings(broker: str, prefix: str) -> Settings:
    """A corner of the broker without topics."""
    return corner(broker, prefix, partitions=2)


def differences_of(settings: Settings) -> list[str]:
    """What the start-up check says."""
    with pytest.raises(ClusterMismatch) as caught:
        check_cluster(settings)
    return list(caught.value.differences)


def await_shown(settings: Settings, is_shown: Callable[[dict[str, TopicSeen]], bool]) -> None:
    """Return when the broker shows a change that its controller has made."""
    client = admin(settings)
    assert until(lambda: is_shown(seen_topics(client, settings)), deadline_s=DEADLINE_S)


def set_option(settings: Settings, topic: Topic, option: str, value: str) -> None:
    """Change a topic behind our back, as an operator's own tool would."""
    entry = ConfigEntry(option, value, incremental_operation=AlterConfigOpType.SET)
    name = settings.shape().name(topic)
    resource = ConfigResource(ResourceType.TOPIC, name, incremental_configs=[entry])
    client = admin(settings)
    client.incremental_alter_configs([resource])[resource].result(DEADLINE_S)
    await_shown(settings, lambda seen: seen[name].config[option] == value)


def test_empty_cluster_lacks_every_topic(settings: Settings) -> None:
    """The check says what to run before anything is written."""
    assert differences_of(settings) == [
        f"{settings.topic_prefix}{topic}: missing; run `onereply topics create --execute`"
        for topic in Topic
    ]


def test_created_topics_are_as_declared(settings: Settings) -> None:
    """What we ask for, the broker says it has: nothing is lost on the way."""
    done = create_topics(settings)

    check_cluster(settings)
    assert done == sorted(f"{settings.topic_prefix}{topic}: created" for topic in Topic)


def test_creating_again_does_nothing(settings: Settings) -> None:
    """Every process of an installation may try it."""
    create_topics(settings)

    assert create_topics(settings) == []


def test_missing_topic_is_created_beside_the_others(settings: Settings) -> None:
    """A release that brings a topic must not need an empty cluster."""
    create_topics(settings)
    name = settings.shape().name(Topic.AUDIT)
    client = admin(settings)
    client.delete_topics([name])[name].result(DEADLINE_S)
    await_shown(settings, lambda seen: name not in seen)

    assert create_topics(settings) == [f"{name}: created"]


def test_changed_option_is_named_and_set_back(settings: Settings) -> None:
    """Retention shortened by hand is found at the next start, not when mail is gone."""
    create_topics(settings)
    set_option(settings, Topic.INBOUND_EVENTS, "retention.ms", "60000")
    name = settings.shape().name(Topic.INBOUND_EVENTS)

    assert differences_of(settings) == [
        (
            f"{name}: retention.ms is 60000, declared 2592000000; "
            "run `onereply topics create --execute`, which sets it"
        )
    ]
    assert create_topics(settings) == [f"{name}: options set"]
    check_cluster(settings)


def test_changed_partition_count_stays_and_is_refused(settings: Settings) -> None:
    """Nothing mends it: keys written before lie in other partitions than keys written after."""
    create_topics(settings)
    name = settings.shape().name(Topic.THREAD_EVENTS)
    client = admin(settings)
    client.create_partitions([NewPartitions(name, 3)])[name].result(DEADLINE_S)
    await_shown(settings, lambda seen: seen[name].partitions == 3)

    create_topics(settings)

    (line,) = differences_of(settings)
    assert line.startswith(f"{name}: has 3 partitions, declared 2; a changed count sends keys")


def test_broker_that_is_away_is_said_to_be_away(prefix: str) -> None:
    """Whoever supervises us tries again; a wrong cluster would need a person."""
    settings = corner("127.0.0.1:9", prefix)

    with pytest.raises(Transient, match="broker does not answer"):
        check_cluster(settings)
