"""The start-up check of Kafka's own topics, on a broker of its own that nobody has used yet."""

from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest
from confluent_kafka import Producer

from ops.kafka.broker import LocalKafka
from ops.kafka.process import until
from ops.kafka.telling import Silence
from schemas.cluster import admin, create_topics, transactional_config
from schemas.errors import ClusterMismatch
from schemas.internal_topics import Copies, InternalSeen
from schemas.settings import Settings, load_settings
from schemas.startup import check_cluster, seen_internal, wait_for_cluster
from tests.broker import DATA_DIR

DEADLINE_S = 30.0
ONE_COPY = Copies(replication=1, min_insync=1)
TRANSACTIONS, OFFSETS = "__transaction_state", "__consumer_offsets"


@pytest.fixture
def unused(tmp_path: Path) -> Iterator[Settings]:
    """A broker on which nothing was ever committed."""
    with LocalKafka(tmp_path, install_dir=DATA_DIR, teller=Silence()) as kafka:
        yield load_settings(bootstrap_servers=kafka.bootstrap_servers, durability="single-node")


def test_brokers_options_are_looked_at_until_the_topics_are_there(unused: Settings) -> None:
    """They are made when they are first needed, which is after the start-up check."""
    client = admin(unused)
    before = seen_internal(client)
    producer = Producer(transactional_config(unused, "tests"))
    producer.init_transactions(DEADLINE_S)

    assert before == InternalSeen(
        existing={}, planned={TRANSACTIONS: (ONE_COPY,), OFFSETS: (ONE_COPY,)}, brokers=1
    )
    assert until(
        lambda: seen_internal(client).existing == {TRANSACTIONS: ONE_COPY}, deadline_s=DEADLINE_S
    )
    assert seen_internal(client).planned == {OFFSETS: (ONE_COPY,)}


def test_fewer_copies_than_the_settings_promise_keep_a_process_from_starting(
    unused: Settings,
) -> None:
    """Our own topics on three disks are worth nothing when the commits are on one."""
    create_topics(unused)
    check_cluster(unused)
    promised = unused.model_copy(update={"durability": "replicated"})

    with pytest.raises(ClusterMismatch) as caught:
        check_cluster(promised)

    internal = [line for line in caught.value.differences if line.startswith("__")]
    assert [line.partition(" are needed; ")[0] for line in internal if "replicas, 3" in line] == [
        f"{TRANSACTIONS}: would be made with 1 replicas, 3",
        f"{OFFSETS}: would be made with 1 replicas, 3",
    ]
    assert "set transaction.state.log.replication.factor=3 on every broker" in internal[0]


def test_process_that_is_told_to_stop_waits_for_no_broker() -> None:
    """Whoever stops a pipeline without a broker must not wait for a minute."""
    stopping = Event()
    stopping.set()

    wait_for_cluster(load_settings(bootstrap_servers="127.0.0.1:9"), stopping)

    assert stopping.is_set()
