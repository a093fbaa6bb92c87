"""The real DEDUPE alone on a corner of the broker, and events as the door writes them."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import Producer

from schemas.cluster import create_topics, producer_config
from schemas.headers import PROVIDER, RECEIVED_AT
from schemas.settings import Settings
from schemas.topics import Topic
from tests.logs import corner, environ_of
from tests.payloads import a_message, an_event
from tests.pipeline import INBOXES, SECRET, directory
from tests.processes import DEADLINE_S, Process, clean_environ


def corner_of_dedupe(servers: str, prefix: str, folder: Path) -> Settings:
    """A corner with one partition, its topics made."""
    config = folder / "onereply.toml"
    config.write_text(directory("http://127.0.0.1:1"), encoding="utf-8")
    found = corner(
        servers,
        prefix,
        partitions=1,
        session_timeout_ms=6_000,
        transaction_timeout_ms=4_000,
        data_dir=str(folder / "data"),
        config_file=str(config),
    )
    create_topics(found)
    return found


@contextmanager
def dedupe(settings: Settings) -> Iterator[Process]:
    """The real stage, started."""
    secrets = {"TEST_SECRET": SECRET, "TEST_API_KEY": "none"}
    environ = clean_environ(**environ_of(settings), **secrets)
    with Process("processors", "dedupe", environ=environ) as process:
        process.start()
        yield process


def bring(settings: Settings, *event_ids: str) -> None:
    """These events as the door writes them."""
    producer = Producer(producer_config(settings))
    for event_id in event_ids:
        body = an_event(
            event_id=event_id,
            message=a_message(inbox_id=INBOXES[0], message_id=f"<{event_id}@customer.example>"),
        )
        now_ms = b"%d" % (time.time_ns() // 1_000_000)
        producer.produce(
            settings.shape().name(Topic.INBOUND_EVENTS),
            body,
            key=f"agentmail/{event_id}",
            headers=[(RECEIVED_AT, now_ms), (PROVIDER, b"agentmail")],
        )
        assert producer.flush(DEADLINE_S) == 0
