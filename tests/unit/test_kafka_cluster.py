import errno
import io
import socket
from pathlib import Path

import pytest

from ops.kafka.cluster import (
    cluster_status,
    plan_cluster,
    running,
    stop_cluster,
    store_plan,
    stored_plan,
)
from ops.kafka.errors import BrokerAway, ClusterRefused, plain_words
from ops.kafka.ports import FIRST, LAST, free_ports, is_in_use, require_free
from ops.kafka.telling import Lines


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        """It does."""
        return True


def test_plan_is_remembered(tmp_path: Path) -> None:
    """Stop and status read it from other terminals."""
    plan = plan_cluster(tmp_path, nodes=3, ports=[9092, 9093, 9094])

    store_plan(tmp_path, plan)

    assert stored_plan(tmp_path) == plan


def test_cluster_keeps_its_id_on_other_ports(tmp_path: Path) -> None:
    """A broker refuses a log folder of another cluster."""
    first = plan_cluster(tmp_path, nodes=1, ports=[9092])
    store_plan(tmp_path, first)

    second = plan_cluster(tmp_path, nodes=1, ports=[9999])

    assert second.cluster_id == first.cluster_id
    assert second.bootstrap_servers == "127.0.0.1:9999"


def test_cluster_id_is_a_kafka_uuid(tmp_path: Path) -> None:
    """Kafka's is 22 letters of URL-safe base64, and a dash in front would read as an option."""
    plan = plan_cluster(tmp_path, nodes=1, ports=[9092])

    assert len(plan.cluster_id) == 22
    assert plan.cluster_id[0] == "k"


def test_cluster_does_not_change_its_size(tmp_path: Path) -> None:
    """Three nodes over the data of one would lose it or never start."""
    store_plan(tmp_path, plan_cluster(tmp_path, nodes=1, ports=[9092]))

    with pytest.raises(ClusterRefused, match="holds a cluster of 1: start it with --nodes 1"):
        plan_cluster(tmp_path, nodes=3, ports=[9092, 9093, 9094])


def test_folder_without_a_cluster_is_down(tmp_path: Path) -> None:
    """Status before the first start is an answer, not an error."""
    seen = cluster_status(tmp_path)

    assert (seen.is_up, seen.nodes, stored_plan(tmp_path)) == (False, (), None)
    assert (running(tmp_path), stop_cluster(tmp_path)) == ([], [])


def test_cluster_whose_processes_are_gone_is_down(tmp_path: Path) -> None:
    """A reboot ends the processes and leaves the folder."""
    store_plan(tmp_path, plan_cluster(tmp_path, nodes=1, ports=[9092]))

    seen = cluster_status(tmp_path)

    assert (seen.is_up, [node.is_running for node in seen.nodes]) == (False, [False])


def test_free_ports_differ_and_lie_below_outgoing_ones() -> None:
    """An outgoing connection must not take the port of a node that was killed."""
    ports = free_ports(6)

    assert len(set(ports)) == 6
    assert all(FIRST <= port < LAST for port in ports)


def test_port_in_use_is_seen_and_named() -> None:
    """The broker's own complaint about it is forty lines of Java."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        assert is_in_use(port)
        with pytest.raises(BrokerAway, match=f"Port {port} on 127.0.0.1 is in use"):
            require_free(port)

    assert not is_in_use(port)


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        (errno.ENOSPC, "The disk that holds /data is full: free some space and start again."),
        (errno.EACCES, "No right to write /data: name another folder with --data-dir."),
        (errno.EROFS, "No right to write /data: name another folder with --data-dir."),
        (errno.EIO, "Input/output error: /data"),
    ],
)
def test_refusal_of_the_system_is_one_sentence(code: int, sentence: str) -> None:
    """A traceback tells a user nothing."""
    with pytest.raises(BrokerAway) as caught, plain_words(Path("/data")):
        raise OSError(code, "Input/output error")

    assert str(caught.value) == sentence


def test_progress_rewrites_its_line_on_a_terminal() -> None:
    """Forty-six lines of progress are noise."""
    terminal = Terminal()
    lines = Lines(terminal)

    lines.show("1 of 2")
    lines.show("2 of 2")
    lines.say("Done.")

    assert terminal.getvalue() == "\r\x1b[K  1 of 2\r\x1b[K  2 of 2\r\x1b[KDone.\n"


def test_progress_is_rare_in_a_file() -> None:
    """A log file cannot rewrite a line."""
    file = io.StringIO()
    lines = Lines(file)

    lines.show("1 of 2")
    lines.say("Done.")

    assert file.getvalue() == "Done.\n"
