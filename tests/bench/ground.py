"""Where a bench runs: a corner of the broker with its own topics, and a folder.

Owns: making it, and the question whether a stage has read its input to the end.
May not: know what is measured.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import NewTopic

from schemas.cluster import admin, consumer_config, create_topics
from schemas.settings import Settings
from schemas.topics import Topic
from tests.bench.events import DEADLINE_S, DIRECTORY
from tests.logs import corner, environ_of
from tests.processes import clean_environ

NO_COORDINATOR_YET: Final = frozenset(
    {
        KafkaError.NOT_COORDINATOR,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """A corner of the broker, and a folder for state and logs."""

    settings: Settings
    folder: Path

    def environ(self, **more: str) -> Mapping[str, str]:
        """The environment of a process of ours."""
        return clean_environ(**environ_of(self.settings) | more)

    def name(self, topic: Topic) -> str:
        """The topic's name in this corner."""
        return self.settings.shape().name(topic)


def new_ground(servers: str, folder: Path, **settings: Any) -> Ground:
    """A corner of its own, with all topics of ours."""
    folder.mkdir(parents=True)
    (folder / "onereply.toml").write_text(DIRECTORY, encoding="utf-8")
    made = corner(
        servers,
        f"bench-{os.getpid()}-{folder.name}-",
        config_file=str(folder / "onereply.toml"),
        data_dir=str(folder / "data"),
        **settings,
    )
    create_topics(made)
    return Ground(settings=made, folder=folder)


def add_topic(settings: Settings, name: str) -> None:
    """A topic for a peer, its times the broker's, as in ours."""
    topic = NewTopic(
        name,
        num_partitions=settings.partitions,
        replication_factor=1,
        config={"message.timestamp.type": "LogAppendTime"},
    )
    client = admin(settings)
    for future in client.create_topics([topic]).values():
        future.result(DEADLINE_S)


@contextmanager
def end_watch(ground: Ground, *, stage: str, topic: Topic) -> Iterator[Callable[[], bool]]:
    """A cheap question: whether the stage's next offsets stand at the end of the topic."""
    settings, name = ground.settings, ground.name(topic)
    consumer = Consumer(consumer_config(settings, group=f"{settings.topic_prefix}{stage}"))
    try:
        asked = [TopicPartition(name, number) for number in range(settings.partitions)]
        ends = [consumer.get_watermark_offsets(each, DEADLINE_S)[1] for each in asked]

        def is_done() -> bool:
            try:
                found = [each.offset for each in consumer.committed(asked, DEADLINE_S)]
            except KafkaException as error:
                # A new broker is still finding out who coordinates the group.
                if error.args[0].code() not in NO_COORDINATOR_YET:
                    raise
                return False
            return all(
                at == end or (at < 0 and not end) for at, end in zip(found, ends, strict=True)
            )

        yield is_done
    finally:
        consumer.close()
