"""Stores whose disk has no room or goes away, on real Kafka."""

import shutil
from collections import Counter
from hashlib import shake_128
from pathlib import Path

import pytest

from schemas.cluster import create_topics
from schemas.settings import Settings
from schemas.topics import Topic
from tests.logs import await_records, corner, environ_of, put
from tests.processes import Process, clean_environ
from tests.staging import Told, stage, told

# Room for an empty store and a small batch.
MOST_BYTES = 128 * 1024
FEW: list[Told] = [(f"k{number}".encode(), b"plain") for number in range(20)]
# Their keys alone are more than a file may hold, however well it is compressed.
MANY: list[Told] = [
    (shake_128(b"%d" % number).hexdigest(100).encode(), b"plain") for number in range(3_000)
]
NEW: Told = (b"new", b"plain")


@pytest.fixture
def settings(broker: str, prefix: str) -> Settings:
    """A corner with one partition: one store."""
    found = corner(broker, prefix, partitions=1)
    create_topics(found)
    return found


def narrow_stage(settings: Settings, data: Path) -> Process:
    """The stage with little room, not started."""
    ours = environ_of(settings) | {"ONEREPLY_DATA_DIR": str(data)}
    return Process("tests.narrow", str(MOST_BYTES), environ=clean_environ(**ours))


def store_folder(settings: Settings, data: Path) -> Path:
    """Where the only partition's store lies."""
    return data / "state" / f"{settings.topic_prefix}dedupe" / settings.worker_name / "0"


def test_full_disk_ends_the_stage_and_nothing_is_lost_or_doubled(
    settings: Settings, tmp_path: Path
) -> None:
    """What Kafka has committed and the store has not stands in the changelog."""
    with narrow_stage(settings, tmp_path) as process:
        process.start()
        process.wait_for("stage live")
        put(settings, Topic.INBOUND_EVENTS, FEW)
        await_records(settings, Topic.THREAD_EVENTS, len(FEW))
        put(settings, Topic.INBOUND_EVENTS, MANY)
        first = process.ended()
        said = process.lines[-1]
        before = told(settings)
        # There is no room yet: it cannot even bring its store up to date.
        process.start()
        second = process.ended()
        after = told(settings)

    assert (first, second) == (3, 3)
    assert said.startswith("StoreError: store ")
    assert "cannot be written" in said
    assert process.lines[-1].startswith("StoreError: store ")
    assert after == before
    assert not any("Traceback" in line for line in process.lines)

    with stage(settings, tmp_path) as process:
        put(settings, Topic.INBOUND_EVENTS, [*FEW, *MANY, NEW])
        process.start()
        await_records(settings, Topic.THREAD_EVENTS, len(FEW) + len(MANY) + 1)
        assert process.terminate() == 0
    assert told(settings) == Counter([*FEW, *MANY, NEW])


def test_store_that_is_removed_under_a_stage_is_rebuilt(settings: Settings, tmp_path: Path) -> None:
    """Its files go on without a name until the stage ends; then the changelog has all of it."""
    with stage(settings, tmp_path) as process:
        process.start()
        process.wait_for("stage live")
        put(settings, Topic.INBOUND_EVENTS, FEW)
        await_records(settings, Topic.THREAD_EVENTS, len(FEW))
        shutil.rmtree(store_folder(settings, tmp_path))
        put(settings, Topic.INBOUND_EVENTS, MANY)
        await_records(settings, Topic.THREAD_EVENTS, len(FEW) + len(MANY))
        assert process.terminate() == 0
        put(settings, Topic.INBOUND_EVENTS, [*FEW, *MANY, NEW])
        process.start()
        await_records(settings, Topic.THREAD_EVENTS, len(FEW) + len(MANY) + 1)
        assert process.terminate() == 0
    assert told(settings) == Counter([*FEW, *MANY, NEW])
    assert any("store not closed" in line for line in process.lines)
