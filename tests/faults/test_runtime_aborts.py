"""What Kafka refuses, and what a stage cannot decide, on real Kafka: set aside, or a clear end."""

import os
import time
from collections import Counter
from pathlib import Path

import pytest
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from processors.core.turn import MAX_VALUE_BYTES, MAX_WRITTEN_BYTES
from schemas.cluster import admin, create_topics, seen_topics
from schemas.settings import Settings
from schemas.topics import Topic
from tests.logs import await_records, corner, put, records_in
from tests.processes import DEADLINE_S
from tests.staging import stage, told

PLAIN = [(f"k{number}".encode(), b"plain") for number in range(20)]


def alter(settings: Settings, topic: Topic, option: str, value: str) -> None:
    """Set a topic's option; return once the broker shows it."""
    client, name = admin(settings), settings.shape().name(topic)
    entry = ConfigEntry(option, value, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, name, incremental_configs=[entry])
    client.incremental_alter_configs([resource])[resource].result(DEADLINE_S)
    give_up_at_s = time.monotonic() + DEADLINE_S
    while seen_topics(client, settings)[name].config[option] != value:
        assert time.monotonic() < give_up_at_s, f"{name} does not show {option}"


def delete(settings: Settings, topic: Topic) -> None:
    """Delete a topic; return once the broker shows it no more."""
    client, name = admin(settings), settings.shape().name(topic)
    client.delete_topics([name])[name].result(DEADLINE_S)
    give_up_at_s = time.monotonic() + DEADLINE_S
    while name in seen_topics(client, settings):
        assert time.monotonic() < give_up_at_s, f"{name} is still there"


@pytest.fixture
def settings(broker: str, prefix: str) -> Settings:
    """A corner with one partition: what is read together is one batch."""
    found = corner(broker, prefix, partitions=1, transaction_timeout_ms=2_000)
    create_topics(found)
    return found


@pytest.mark.parametrize("value", [b"large", b"wide", b"long"])
def test_what_would_be_too_large_is_its_own_records_dead_letter(
    settings: Settings, tmp_path: Path, *, value: bytes
) -> None:
    """Refused by Kafka it would take its whole batch along, at every start."""
    put(settings, Topic.INBOUND_EVENTS, [*PLAIN[:10], (b"odd", value), *PLAIN[10:]])

    with stage(settings, tmp_path) as process:
        process.start()
        await_records(settings, Topic.THREAD_EVENTS, len(PLAIN))
        assert process.terminate() == 0

    assert told(settings) == Counter(PLAIN)
    (dead,) = records_in(settings, Topic.DEAD_LETTERS)
    assert (dead.key, dead.value) == (b"odd", value)
    assert dead.headers["onereply-dead-error"] == b"TooLarge"


def test_largest_records_are_passed_on_and_set_aside_whole(
    settings: Settings, tmp_path: Path
) -> None:
    """Bytes that no compression makes smaller: the limits are those of the broker itself."""
    largest = os.urandom(MAX_VALUE_BYTES)
    bad = b"bad" + os.urandom(MAX_WRITTEN_BYTES - 10)
    put(settings, Topic.INBOUND_EVENTS, [(b"largest", largest), (b"bad", bad)])

    with stage(settings, tmp_path) as process:
        process.start()
        await_records(settings, Topic.DEAD_LETTERS, 1)
        assert process.terminate() == 0

    (dead,) = records_in(settings, Topic.DEAD_LETTERS)
    assert (dead.key, dead.value) == (b"bad", bad)
    assert told(settings) == Counter([(b"largest", largest)])


def test_dead_letters_that_take_nothing_stop_the_stage_until_they_are_mended(
    settings: Settings, tmp_path: Path
) -> None:
    """A record that can be neither processed nor set aside must not be lost, nor tried for ever."""
    alter(settings, Topic.DEAD_LETTERS, "max.message.bytes", "100")
    put(settings, Topic.INBOUND_EVENTS, [*PLAIN, (b"odd", b"bad")])

    with stage(settings, tmp_path) as process:
        process.start()
        code = process.ended()

        assert code == 1
        assert process.lines[-1].startswith("ClusterMismatch: records cannot be written: ")
        assert settings.shape().name(Topic.DEAD_LETTERS) in process.lines[-1]
        assert told(settings) == Counter()

        create_topics(settings)
        process.start()
        await_records(settings, Topic.DEAD_LETTERS, 1)
        assert process.terminate() == 0

    assert told(settings) == Counter(PLAIN)


def test_topic_that_takes_no_records_ends_the_stage_until_it_does(
    settings: Settings, tmp_path: Path
) -> None:
    """Each batch waits for its topic in vain; no other process has this name."""
    delete(settings, Topic.THREAD_EVENTS)
    put(settings, Topic.INBOUND_EVENTS, PLAIN)

    with stage(settings, tmp_path) as process:
        process.start()
        code = process.ended()

        assert code == 3
        assert process.lines[-1].startswith("Transient: ")

        create_topics(settings)
        process.start()
        await_records(settings, Topic.THREAD_EVENTS, len(PLAIN))
        assert process.terminate() == 0

    assert told(settings) == Counter(PLAIN)


def test_timer_that_cannot_be_decided_is_set_aside_once(settings: Settings, tmp_path: Path) -> None:
    """It would stop its stage at every start, and be the first thing to fire there."""
    put(settings, Topic.INBOUND_EVENTS, [(b"odd", b"poison"), (b"even", b"later")])
    expected = [(b"odd", b"poison"), (b"even", b"later"), (b"even", b"told later")]

    with stage(settings, tmp_path) as process:
        process.start()
        await_records(settings, Topic.DEAD_LETTERS, 1)
        await_records(settings, Topic.THREAD_EVENTS, len(expected))
        assert process.terminate() == 0
        put(settings, Topic.INBOUND_EVENTS, PLAIN)
        process.start()
        await_records(settings, Topic.THREAD_EVENTS, len(expected) + len(PLAIN))
        assert process.terminate() == 0

    (dead,) = records_in(settings, Topic.DEAD_LETTERS)
    assert dead.key == b"poison/odd"
    assert dead.headers["onereply-dead-reason"] == b"it says that it is poisoned"
    assert told(settings) == Counter([*expected, *PLAIN])
