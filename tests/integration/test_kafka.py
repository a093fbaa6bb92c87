"""The local broker as a user and as a test meets it: processes, files, ports, real clients."""

import json
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from ops.kafka.broker import LocalKafka
from ops.kafka.cluster import install_folder, node_folder, running
from ops.kafka.errors import AlreadyRunning, BrokerAway, ClusterRefused
from ops.kafka.jars import SIZE_MB
from ops.kafka.ports import free_ports
from ops.kafka.process import find_process, until
from tests.architecture import ROOT
from tests.broker import DATA_DIR, link_jars
from tests.commands import PROGRAM
from tests.commands import onereply as run

ONEREPLY = [sys.executable, *PROGRAM]
DEADLINE_S = 180.0
# No registry answers there: what works with it works without a network.
OFFLINE = {"HTTPS_PROXY": "http://127.0.0.1:9", "HOME": "/nonexistent"}


@pytest.fixture
def data_dir(tmp_path: Path) -> Iterator[Path]:
    """A data folder with the jars of the project's own; what still runs in it is ended."""
    link_jars(tmp_path)
    yield tmp_path
    for process in running(tmp_path):
        process.kill()


def onereply(*arguments: object, data_dir: Path) -> "subprocess.CompletedProcess[str]":
    """The command's outcome, without a network and without a home."""
    return run("kafka", *arguments, **OFFLINE, ONEREPLY_DATA_DIR=str(data_dir))


def create(servers: str, topic: str, **settings: Any) -> None:
    """Create a topic of one partition."""
    client = AdminClient({"bootstrap.servers": servers})
    client.create_topics([NewTopic(topic, num_partitions=1, **settings)])[topic].result(DEADLINE_S)


def produce(servers: str, topic: str, values: list[bytes]) -> None:
    """Return when the cluster has acked all values."""
    producer = Producer({"bootstrap.servers": servers, "acks": "all"})
    for value in values:
        producer.produce(topic, value)
    assert producer.flush(DEADLINE_S) == 0


def consume(servers: str, topic: str, *, count: int) -> list[bytes | None]:
    """The topic's first values that readers of committed records see."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": topic,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([topic])
    try:
        return [record.value() for record in consumer.consume(count, DEADLINE_S)]
    finally:
        consumer.close()


def test_transaction_is_read_when_it_is_committed(broker: str, prefix: str) -> None:
    """The stages live on transactions: the local broker must take them out of the box."""
    topic = f"{prefix}events"
    create(broker, topic)
    producer = Producer({"bootstrap.servers": broker, "transactional.id": topic})
    producer.init_transactions(DEADLINE_S)

    producer.begin_transaction()
    producer.produce(topic, b"dropped")
    producer.abort_transaction(DEADLINE_S)
    producer.begin_transaction()
    producer.produce(topic, b"kept")
    producer.commit_transaction(DEADLINE_S)

    assert consume(broker, topic, count=1) == [b"kept"]


def test_topic_is_not_made_by_a_typing_error(broker: str, prefix: str) -> None:
    """A topic that nobody declared would have the wrong partitions."""
    topic = f"{prefix}typo"
    client = AdminClient({"bootstrap.servers": broker})

    client.list_topics(topic, timeout=DEADLINE_S)

    assert topic not in client.list_topics(timeout=DEADLINE_S).topics


def test_data_survives_stop_and_start_from_other_terminals(data_dir: Path) -> None:
    """Start, status and stop are three processes that know each other only by the folder."""
    (port,) = free_ports(1)
    servers = f"127.0.0.1:{port}"

    started = onereply("start", "--port", port, "--json", data_dir=data_dir)
    assert started.returncode == 0, started.stderr
    assert json.loads(started.stdout)["bootstrap_servers"] == servers
    create(servers, "kept")
    produce(servers, "kept", [b"before"])
    assert onereply("status", data_dir=data_dir).returncode == 0
    stopped = onereply("stop", "--json", data_dir=data_dir)
    assert json.loads(stopped.stdout)["killed"] == []
    assert running(data_dir) == []
    assert onereply("status", data_dir=data_dir).returncode == 1
    assert onereply("start", "--port", port, data_dir=data_dir).returncode == 0

    assert consume(servers, "kept", count=1) == [b"before"]


def test_second_start_finds_the_first(data_dir: Path) -> None:
    """Two terminals may ask for the same broker at the same moment; there is one."""
    (port,) = free_ports(1)
    command = [*ONEREPLY, "kafka", "start", "--data-dir", str(data_dir), "--port", str(port)]

    both = [
        subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    said = [each.communicate(timeout=DEADLINE_S) for each in both]

    assert [each.returncode for each in both] == [0, 0], said
    assert len(running(data_dir)) == 1
    moved = onereply("start", "--port", port + 1, data_dir=data_dir)
    assert (moved.returncode, "stop it first" in moved.stderr) == (1, True)


def test_foreground_broker_ends_with_its_terminal(data_dir: Path) -> None:
    """Ctrl-C is how most people stop a thing."""
    (port,) = free_ports(1)
    command = [*ONEREPLY, "kafka", "start", "--foreground", "--data-dir", str(data_dir)]

    with subprocess.Popen(
        [*command, "--port", str(port)], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as foreground:
        assert foreground.stdout is not None
        assert b"is up at" in foreground.stdout.readline()
        foreground.send_signal(2)
        code = foreground.wait(DEADLINE_S)

    assert (code, running(data_dir)) == (0, [])


def test_port_in_use_is_one_sentence(data_dir: Path) -> None:
    """Another Kafka on 9092 is the usual first surprise."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        refused = onereply("start", "--port", port, data_dir=data_dir)

    assert refused.returncode == 3
    assert refused.stderr.splitlines() == [
        f"Error: Port {port} on 127.0.0.1 is in use: another Kafka? Name another one with --port."
    ]


def test_missing_network_is_one_sentence(tmp_path: Path) -> None:
    """The first start needs a network, and says so when there is none."""
    refused = onereply("start", "--port", 0, data_dir=tmp_path)

    assert refused.returncode == 3
    assert refused.stderr.splitlines()[-1].startswith("Error: No answer from repo.maven.apache.org")
    assert "Traceback" not in refused.stderr


def test_download_is_as_large_as_it_is_said_to_be(data_dir: Path) -> None:
    """Somebody on a slow line decides by it."""
    jars = (install_folder(data_dir) / "jars").glob("*.jar")

    assert abs(sum(jar.stat().st_size for jar in jars) / 1_000_000 - SIZE_MB) < 1


def test_damaged_jar_is_named_and_not_run(data_dir: Path) -> None:
    """A jar that is not the locked one is somebody else's code."""
    jars = install_folder(data_dir) / "jars"
    jars.unlink()
    shutil.copytree(install_folder(DATA_DIR) / "jars", jars)
    damaged = next(jars.glob("slf4j-api-*.jar"))
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"x")

    refused = onereply("start", "--port", 0, data_dir=data_dir)

    assert refused.returncode == 3
    assert refused.stderr.startswith(f"Error: {damaged.name} is not the jar that the lock file")
    assert running(data_dir) == []


def test_broker_ends_when_its_owner_is_killed(data_dir: Path) -> None:
    """A test run that is killed must not leave a broker that eats memory for ever."""
    program = (
        "import sys, pathlib, time\n"
        "from ops.kafka.broker import LocalKafka\n"
        "kafka = LocalKafka(pathlib.Path(sys.argv[1]))\n"
        "kafka.start()\n"
        "print(kafka.bootstrap_servers, flush=True)\n"
        "time.sleep(600)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(data_dir)], cwd=ROOT, stdout=subprocess.PIPE
    ) as owner:
        assert owner.stdout is not None
        owner.stdout.readline()
        process = find_process(node_folder(data_dir, 1))
        assert process is not None

        owner.kill()

    assert until(lambda: not process.is_alive(), deadline_s=DEADLINE_S)


def says_away(kafka: LocalKafka) -> bool:
    """Whether it says that a node does not run."""
    try:
        kafka.require_running()
    except BrokerAway:
        return True
    return False


def test_killed_node_comes_back_with_what_it_acked(data_dir: Path) -> None:
    """An ack is a promise, whatever happens to the process that gave it."""
    with LocalKafka(data_dir) as kafka:
        create(kafka.bootstrap_servers, "acked")
        produce(kafka.bootstrap_servers, "acked", [b"1", b"2"])

        (process,) = running(data_dir)
        process.kill()
        # A killed process loses its command line a moment before its parent hears of its end.
        assert until(lambda: says_away(kafka), deadline_s=DEADLINE_S)
        kafka.start_node()

        assert consume(kafka.bootstrap_servers, "acked", count=2) == [b"1", b"2"]


def test_folder_is_used_by_one_cluster_at_a_time(data_dir: Path) -> None:
    """Two brokers on one log would destroy it."""
    with LocalKafka(data_dir), pytest.raises(AlreadyRunning):
        LocalKafka(data_dir).start()

    with pytest.raises(ClusterRefused):
        LocalKafka(data_dir, nodes=3).start()


def test_three_nodes_keep_their_promises_without_one(data_dir: Path) -> None:
    """Fault tests need a cluster that acks with two of three and takes the third back."""
    with LocalKafka(data_dir, nodes=3) as kafka:
        servers = kafka.bootstrap_servers
        create(servers, "copied", replication_factor=3)
        produce(servers, "copied", [b"with three"])

        kafka.kill(2)
        produce(servers, "copied", [b"with two"])
        kafka.start_node(2)
        kafka.stop_node(1)

        assert consume(servers, "copied", count=2) == [b"with three", b"with two"]


def test_start_that_fails_leaves_nothing(data_dir: Path) -> None:
    """A broken setting or disk must not leave a half-started broker behind."""
    with LocalKafka(data_dir):
        pass
    (node_folder(data_dir, 1) / "data" / "meta.properties").write_text("version=1\n")

    with pytest.raises(BrokerAway, match="Kafka ended while it started"):
        LocalKafka(data_dir).start()

    assert running(data_dir) == []
