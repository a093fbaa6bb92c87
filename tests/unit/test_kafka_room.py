"""How much room a start takes, and what is said where there is none."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ops.kafka.aot import ready_cache
from ops.kafka.errors import BrokerAway, DiskFull
from ops.kafka.java import Java
from ops.kafka.jvm import Jvm
from ops.kafka.node import Node
from ops.kafka.properties import ClusterPlan, NodeAddress
from ops.kafka.room import KEEP_MB, START_MB, free_mb, require_room
from tests.tellers import Told

DATA = Path("/data")
FULL = "ERROR Error while appending records: java.io.IOException: No space left on device"


def a_jvm(folder: Path, *, says: str) -> Jvm:
    """A Java that says a line and ends."""
    executable = folder / "java"
    executable.write_text(f"#!/bin/sh\necho '{says}' >&2\nexit 1\n")
    executable.chmod(0o700)
    return Jvm(java=Java(executable=executable, version="25.0.1", origin="test"), class_path="")


def a_node(folder: Path) -> Node:
    """A node whose process is gone."""
    address = NodeAddress(node_id=1, port=1, controller_port=2)
    plan = ClusterPlan(cluster_id="k", nodes=(address,))
    return Node(folder, plan=plan, address=address, jvm=a_jvm(folder, says=""))


def test_start_needs_room_to_grow_in_and_says_how_much() -> None:
    """A broker that is started on a full disk ends in the middle of mending its files."""
    require_room(DATA, free=lambda _: START_MB)

    with pytest.raises(DiskFull) as caught:
        require_room(DATA, free=lambda _: START_MB - 1)

    assert str(caught.value) == "The disk that holds /data is full (299 MB free, 300 MB needed)."


def test_what_runs_needs_less_than_a_start() -> None:
    """With one figure for both, everything would stop and start at each megabyte."""
    require_room(DATA, needed_mb=KEEP_MB, free=lambda _: KEEP_MB)

    with pytest.raises(DiskFull, match=r"\(99 MB free, 100 MB needed\)"):
        require_room(DATA, needed_mb=KEEP_MB, free=lambda _: KEEP_MB - 1)


def test_room_is_that_of_the_disk_which_holds_the_folder(tmp_path: Path) -> None:
    """A test run needs room, too: this one has some."""
    assert free_mb(tmp_path) >= KEEP_MB


def test_broker_that_ended_on_a_full_disk_says_so(tmp_path: Path) -> None:
    """Nobody finds that among forty lines of Java."""
    (tmp_path / "server.log").write_text(f"ERROR something else\n{FULL}\n")

    with pytest.raises(DiskFull, match="is full"):
        a_node(tmp_path).require_running()


def test_reason_of_a_broker_is_one_short_sentence(tmp_path: Path) -> None:
    """A line of its log can hold all its settings."""
    (tmp_path / "server.log").write_text("ERROR " + "x" * 3_000)

    with pytest.raises(BrokerAway) as caught:
        a_node(tmp_path).require_running()

    assert len(str(caught.value)) < 300 + len(str(tmp_path))


@pytest.mark.parametrize(
    ("says", "is_remembered"),
    [(FULL, lambda found: found == []), ("ERROR " + "x" * 3_000, lambda found: len(found) == 1)],
    ids=["a full disk, which mends itself", "anything else"],
)
def test_cache_that_could_not_be_made_is_one_sentence(
    tmp_path: Path, says: str, is_remembered: Callable[[list[Path]], bool]
) -> None:
    """Kafka starts all the same, only later; and a disk has room again some day."""
    told = Told()

    cache = ready_cache(a_jvm(tmp_path, says=says), (), folder=tmp_path, teller=told)

    assert (cache, len(told.sentences)) == (None, 2)
    assert told.sentences[1].startswith("No quicker start: ")
    assert len(told.sentences[1]) < 300 + len(str(tmp_path))
    assert is_remembered([*tmp_path.glob("*.failed")])
