"""Stores and changelogs that were lost, damaged, swapped or left behind, on real Kafka."""

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient
from msgspec.structs import replace

from processors.runtime.rows import META_KEY, StoreMeta, packed
from processors.runtime.store import Store, StoreCache
from schemas.cluster import admin, create_topics
from schemas.settings import Settings
from schemas.topics import Topic
from tests.logs import await_records, corner, put
from tests.processes import DEADLINE_S, Process
from tests.staging import stage, told

FIRST = [(f"k{number}".encode(), b"plain") for number in range(30)]
NEW = (b"new", b"plain")
# What is told again would be told within the time that this takes, too.
MARKER = (b"marker", b"plain")


def store_folder(settings: Settings, data: Path) -> Path:
    """Where the only partition's store lies."""
    return data / "state" / f"{settings.topic_prefix}dedupe" / settings.worker_name / "0"


@pytest.fixture
def settings(broker: str, prefix: str, tmp_path: Path) -> Settings:
    """A corner in which the stage has told the first records and was stopped."""
    found = corner(broker, prefix, partitions=1)
    create_topics(found)
    put(found, Topic.INBOUND_EVENTS, FIRST)
    with stage(found, tmp_path) as process:
        process.start()
        await_records(found, Topic.THREAD_EVENTS, len(FIRST))
        assert process.terminate() == 0
    return found


def told_after_everything_again(settings: Settings, data: Path) -> tuple[Counter[Any], Process]:
    """What was told in all once the first records came again, and a new one."""
    put(settings, Topic.INBOUND_EVENTS, [*FIRST, NEW, MARKER])
    with stage(settings, data) as process:
        process.start()
        await_records(settings, Topic.THREAD_EVENTS, len(FIRST) + 2)
        assert process.terminate() == 0
    return told(settings), process


def change_meta(folder: Path, change: Callable[[StoreMeta], bytes]) -> None:
    """Rewrite what the store knows of itself, and nothing else."""
    store = Store(folder, StoreCache(1 << 20))
    meta = store.meta()
    assert meta is not None
    store._db[META_KEY] = change(meta)  # noqa: SLF001  # no way of ours writes such a row
    store.close()


def of_another_format(folder: Path) -> None:
    """As a later version would find it."""
    change_meta(folder, lambda meta: packed(replace(meta, format=meta.format - 1)))


def long_away(folder: Path) -> None:
    """Last live before its changelog forgot what was deleted."""
    change_meta(folder, lambda meta: packed(replace(meta, live_at_ms=1)))


def of_the_future(folder: Path) -> None:
    """As a host finds it whose clock is far behind."""
    change_meta(folder, lambda meta: packed(replace(meta, live_at_ms=1 << 50)))


def without_memory(folder: Path) -> None:
    """Its rows are there, and nothing says up to where."""
    change_meta(folder, lambda _meta: b"\xc1")


def ahead(folder: Path) -> None:
    """It says that it has read what its changelog does not hold."""
    change_meta(folder, lambda meta: packed(replace(meta, next_changelog=10_000)))


def damaged(folder: Path) -> None:
    """A file of it was cut short."""
    (folder / "CURRENT").write_bytes(b"")


@pytest.mark.parametrize(
    "harm", [of_another_format, long_away, of_the_future, without_memory, ahead, damaged]
)
def test_store_that_cannot_be_built_upon_is_rebuilt_and_said_to_be(
    settings: Settings, tmp_path: Path, *, harm: Callable[[Path], None]
) -> None:
    """Its changelog holds all of it, so nothing is told twice and nothing is lost."""
    harm(store_folder(settings, tmp_path))

    seen, process = told_after_everything_again(settings, tmp_path)

    assert seen == Counter([*FIRST, NEW, MARKER])
    assert any("store rebuilt" in line for line in process.lines)


def recreate(client: AdminClient, settings: Settings, topic: Topic) -> None:
    """Delete a topic and make it again, empty, under its name."""
    name = settings.shape().name(topic)
    client.delete_topics([name], operation_timeout=30)[name].result()
    create_topics(settings)


def ended(settings: Settings, data: Path) -> str:
    """The last words of a stage that no new start can help; others are started again."""
    give_up_at_s = time.monotonic() + DEADLINE_S
    with stage(settings, data) as process:
        while True:
            process.start()
            assert process.ended() != 0
            # A topic that was just made is not shown by every part of the broker at once.
            if "Transient" not in process.lines[-1] or time.monotonic() > give_up_at_s:
                return process.lines[-1]


def test_recreated_changelog_stops_the_stage_and_keeps_the_store(
    settings: Settings, tmp_path: Path
) -> None:
    """The store may be the only copy of what is known; a person decides what it is worth."""
    client = admin(settings)
    recreate(client, settings, Topic.DEDUPE_STATE)

    said = ended(settings, tmp_path)

    assert "ClusterMismatch" in said
    assert "was recreated" in said
    store = Store(store_folder(settings, tmp_path), StoreCache(1 << 20))
    rows = list(store.scan(b"\x10", b"\x11"))
    store.close()
    assert len(rows) == len(FIRST)


def test_offsets_without_any_state_stop_the_stage(settings: Settings, tmp_path: Path) -> None:
    """Nothing would be known of what was answered, so everything would be answered again."""
    client = admin(settings)
    recreate(client, settings, Topic.DEDUPE_STATE)

    said = ended(settings, tmp_path / "elsewhere")

    assert "OffsetGone" in said
    assert "its changelog and its store are empty" in said


def test_recreated_input_stops_the_stage(settings: Settings, tmp_path: Path) -> None:
    """Offsets of the old topic mean nothing in the new one."""
    client = admin(settings)
    recreate(client, settings, Topic.INBOUND_EVENTS)

    assert "was recreated" in ended(settings, tmp_path)
