"""A broker that came back without its metadata: nothing is made over what it forgot."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from ops.kafka.broker import LocalKafka
from ops.kafka.cluster import moved_aside, node_folder, running
from ops.kafka.ports import free_ports
from schemas.topics import Topic
from tests.broker import link_jars
from tests.commands import onereply

DEADLINE_S = 30.0
ENVIRON = {"ONEREPLY_DURABILITY": "single-node", "ONEREPLY_PARTITIONS": "1"}


def topics_of(servers: str) -> set[str]:
    """The topics that the broker knows, its own left out."""
    listed = AdminClient({"bootstrap.servers": servers}).list_topics(timeout=DEADLINE_S).topics
    return {name for name in listed if not name.startswith("__")}


def forget(data_dir: Path) -> None:
    """Take the metadata away, as a broker that was started on a full disk once lost it."""
    metadata = node_folder(data_dir, 1) / "data" / "__cluster_metadata-0"
    for path in metadata.iterdir():
        path.unlink()


@pytest.fixture
def data_dir(tmp_path: Path) -> Iterator[Path]:
    """A data folder whose broker has forgotten the topics that it holds."""
    link_jars(tmp_path)
    with LocalKafka(tmp_path) as kafka:
        made = onereply(
            "topics",
            "create",
            "--execute",
            ONEREPLY_BOOTSTRAP_SERVERS=kafka.bootstrap_servers,
            ONEREPLY_DATA_DIR=str(tmp_path),
            **ENVIRON,
        )
        assert made.returncode == 0, made.stderr
    forget(tmp_path)
    yield tmp_path
    for process in running(tmp_path):
        process.kill()


def test_topics_are_not_made_over_partitions_that_the_broker_forgot(data_dir: Path) -> None:
    """Made anew, they would hide that accepted mail is still there, moved aside."""
    door, provider, port = free_ports(3)
    ports = ["--door-port", door, "--provider-port", provider, "--kafka-port", port]

    ran = onereply("run", "--data-dir", data_dir, *ports, **ENVIRON)

    assert (ran.returncode, running(data_dir)) == (1, [])
    assert f"does not know {len(Topic)} of {len(Topic)} topics" in ran.stderr.splitlines()[-1]
    with LocalKafka(data_dir) as kafka:
        servers = kafka.bootstrap_servers
        made = onereply(
            "topics",
            "create",
            "--execute",
            ONEREPLY_BOOTSTRAP_SERVERS=servers,
            ONEREPLY_DATA_DIR=str(data_dir),
            **ENVIRON,
        )
        assert (made.returncode, topics_of(servers)) == (1, set())
    assert len(moved_aside(data_dir)) >= len(Topic)
