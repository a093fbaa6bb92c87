"""What a cluster has against what is declared: each difference of a topic of ours, as a sentence.

Owns: the comparison, the remedy of each difference, and which options may be set at all.
May not: talk to a cluster.
"""

from schemas.topics import MIN_INSYNC, Shape, Topic, TopicSeen


def differences(shape: Shape, seen: dict[str, TopicSeen]) -> list[str]:
    """One line for each way in which the cluster differs, each with its remedy; empty when none."""
    lines: list[str] = []
    for topic in Topic:
        name = shape.name(topic)
        if name not in seen:
            lines.append(f"{name}: missing; run `onereply topics create --execute`")
            continue
        lines += _topic_differences(shape, topic, seen[name])
    return lines


def _topic_differences(shape: Shape, topic: Topic, seen: TopicSeen) -> list[str]:
    name, lines = shape.name(topic), []
    if seen.partitions != shape.partitions_of(topic):
        lines.append(
            f"{name}: has {seen.partitions} partitions, declared {shape.partitions_of(topic)}; "
            "a changed count sends keys to partitions where their state is not: set "
            f"ONEREPLY_PARTITIONS={seen.partitions} if that is what the data was written with, "
            "or move to new topics under another ONEREPLY_TOPIC_PREFIX"
        )
    if seen.replication < shape.replication:
        lines.append(
            f"{name}: {seen.replication} replicas, declared {shape.replication}; "
            "reassign its replicas, or set ONEREPLY_DURABILITY=single-node if losing data is fine"
        )
    for option, wanted in different_options(shape, topic, seen):
        lines.append(
            f"{name}: {option} is {seen.config.get(option)}, declared {wanted}; "
            "run `onereply topics create --execute`, which sets it"
        )
    return lines


def different_options(shape: Shape, topic: Topic, seen: TopicSeen) -> list[tuple[str, str]]:
    """The options to set, and to what.

    Never more in-sync copies than there are: nothing could be written any more.
    """
    return [
        (option, wanted)
        for option, wanted in shape.config_of(topic).items()
        if seen.config.get(option) != wanted
        and not (option == MIN_INSYNC and seen.replication < shape.min_insync)
    ]
