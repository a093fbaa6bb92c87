from dataclasses import replace

import pytest

from schemas.differences import differences, different_options
from schemas.topics import DAY_MS, MIN_INSYNC, TOPICS, Shape, Topic, TopicSeen

SHAPE = Shape(prefix="acme-", partitions=4, replication=3, min_insync=2)
AS_DECLARED = {
    SHAPE.name(topic): TopicSeen(
        partitions=SHAPE.partitions_of(topic),
        replication=SHAPE.replication,
        config=SHAPE.config_of(topic),
    )
    for topic in Topic
}


def lines_with(topic: Topic, **change: object) -> list[str]:
    """The differences when one topic differs in one thing."""
    name = SHAPE.name(topic)
    seen = AS_DECLARED | {name: replace(AS_DECLARED[name], **change)}  # type: ignore[arg-type]  # the change is the test's
    return differences(SHAPE, seen)


def test_every_topic_is_declared() -> None:
    """A topic without a declaration would be made by nobody."""
    assert set(TOPICS) == set(Topic)


def test_cluster_as_declared_differs_in_nothing() -> None:
    """A check that cries at a good cluster is turned off."""
    assert differences(SHAPE, AS_DECLARED) == []


def test_missing_topic_is_named_with_its_remedy() -> None:
    """The first start on a cluster has this for every topic."""
    seen = {name: each for name, each in AS_DECLARED.items() if name != "acme-control"}

    assert differences(SHAPE, seen) == [
        "acme-control: missing; run `onereply topics create --execute`"
    ]


def test_changed_partition_count_is_said_to_break_keys() -> None:
    """More partitions send a key where its state is not, and a mail is answered twice."""
    (line,) = lines_with(Topic.THREAD_EVENTS, partitions=8)

    assert line.startswith("acme-thread-events: has 8 partitions, declared 4; ")
    assert "ONEREPLY_PARTITIONS=8" in line


def test_too_few_copies_are_refused() -> None:
    """One lost disk would be lost mail."""
    (line,) = lines_with(Topic.INBOUND_EVENTS, replication=1)

    assert line == (
        "acme-inbound-events: 1 replicas, declared 3; reassign its replicas, or set "
        "ONEREPLY_DURABILITY=single-node if losing data is fine"
    )


def test_more_copies_than_declared_are_fine() -> None:
    """Who keeps five copies need not be told to keep three."""
    assert lines_with(Topic.INBOUND_EVENTS, replication=5) == []


def test_each_option_that_differs_is_one_line() -> None:
    """All of them at once, or the operator comes back for each."""
    config = AS_DECLARED["acme-audit"].config | {
        "retention.ms": "1000",
        "message.timestamp.type": "CreateTime",
    }

    assert lines_with(Topic.AUDIT, config=config) == [
        (
            "acme-audit: message.timestamp.type is CreateTime, declared LogAppendTime; "
            "run `onereply topics create --execute`, which sets it"
        ),
        (
            "acme-audit: retention.ms is 1000, declared 34560000000; "
            "run `onereply topics create --execute`, which sets it"
        ),
    ]


@pytest.mark.parametrize("topic", Topic)
def test_every_topic_has_the_times_of_its_broker(topic: Topic) -> None:
    """Rows age by LogAppendTime; a producer's clock would decide what is forgotten."""
    config = TOPICS[topic].config()

    assert (config["message.timestamp.type"], config["segment.ms"]) == (
        "LogAppendTime",
        str(DAY_MS),
    )


def test_only_dead_letters_may_be_larger_than_a_record() -> None:
    """What is set aside carries where and why beside the largest record."""
    sizes = {each: int(spec.config()["max.message.bytes"]) for each, spec in TOPICS.items()}

    assert sizes.pop(Topic.DEAD_LETTERS) == 4 * 1024 * 1024 + 64 * 1024
    assert set(sizes.values()) == {4 * 1024 * 1024}


def test_switches_lie_in_one_partition() -> None:
    """A sender reads all of `control` up to its end, and one end is one question."""
    assert [each for each in Topic if SHAPE.partitions_of(each) == 1] == [Topic.CONTROL]


def test_topic_names_hold_nothing_that_collides_in_metrics() -> None:
    """Kafka's metrics turn dots and underscores into the same letter."""
    assert [each for each in Topic if not each.replace("-", "").isalpha()] == []


def test_changelogs_lose_nothing_but_what_was_written_over() -> None:
    """With a retention beside it, a row that nobody touched for long would be gone after it."""
    states = [TOPICS[topic].config() for topic in Topic if topic.endswith("-state")]

    assert {(each["cleanup.policy"], each["retention.ms"]) for each in states} == {
        ("compact", "-1")
    }


def test_raw_events_outlive_every_horizon_of_dedupe() -> None:
    """What is forgotten while its bytes remain would be a new event at the next rewind."""
    spec = TOPICS[Topic.INBOUND_EVENTS]

    assert (spec.retention_ms, spec.compaction_lag_ms) == (30 * DAY_MS, (7 * DAY_MS, 8 * DAY_MS))


def test_more_copies_than_there_are_are_never_waited_for() -> None:
    """The topic could not be written any more; its one copy is what is told."""
    config = SHAPE.config_of(Topic.AUDIT) | {MIN_INSYNC: "1"}
    seen = TopicSeen(partitions=4, replication=1, config=config)

    assert different_options(SHAPE, Topic.AUDIT, seen) == []
    assert different_options(SHAPE, Topic.AUDIT, replace(seen, replication=2)) == [
        (MIN_INSYNC, "2")
    ]
