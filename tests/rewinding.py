"""A group's offsets as Kafka's own tools set them, while no member is there.

Owns: the wait for the members to be gone.
May not: leave anything with an offset that those tools do not: they know no metadata.
"""

import time
from collections.abc import Callable

from confluent_kafka import (
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    TopicPartition,
)

from schemas.cluster import admin
from schemas.settings import Settings
from schemas.topics import Topic
from tests.processes import DEADLINE_S

# What the broker says while a member that was stopped has not been given up yet.
STILL_THERE = {KafkaError.NON_EMPTY_GROUP, KafkaError.UNKNOWN_MEMBER_ID}


def set_offset(
    settings: Settings, stage: str, topic: Topic, *, offset: int, number: int = 0
) -> None:
    """The stage's next offset of a partition, once its workers have left the group."""
    client, group = admin(settings), f"{settings.topic_prefix}{stage}"
    place = TopicPartition(settings.shape().name(topic), number, offset)
    asked = ConsumerGroupTopicPartitions(group, [place])

    def alter() -> None:
        """Once. Raises KafkaException."""
        answer = client.alter_consumer_group_offsets([asked])[group].result(DEADLINE_S)
        (done,) = answer.topic_partitions
        if done.error is not None:
            raise KafkaException(done.error)

    _once_empty(alter)


def forget_offsets(settings: Settings, stage: str) -> None:
    """As when nobody has read for longer than the broker keeps offsets."""
    client, group = admin(settings), f"{settings.topic_prefix}{stage}"
    _once_empty(lambda: client.delete_consumer_groups([group])[group].result(DEADLINE_S))


def _once_empty(change: Callable[[], object]) -> None:
    give_up_at_s = time.monotonic() + DEADLINE_S
    while True:
        try:
            change()
        except KafkaException as error:
            is_over = time.monotonic() > give_up_at_s
            if is_over or error.args[0].code() not in STILL_THERE:
                raise
        else:
            return
