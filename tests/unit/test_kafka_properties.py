from collections.abc import Callable

import pytest

from ops.kafka.properties import (
    LOG4J2,
    ClusterPlan,
    NodeAddress,
    controller_properties,
    server_properties,
)


def a_plan(*, nodes: int) -> ClusterPlan:
    """A cluster on the usual ports."""
    return ClusterPlan(
        cluster_id="k123",
        nodes=tuple(
            NodeAddress(node_id=number, port=9091 + number, controller_port=19091 + number)
            for number in range(1, nodes + 1)
        ),
    )


def properties_of(
    plan: ClusterPlan, tell: Callable[..., str] = server_properties
) -> dict[str, str]:
    """What the first node is told."""
    text = tell(plan, plan.nodes[0], log_dir="data")
    return dict(line.split("=", 1) for line in text.splitlines())


def test_node_listens_on_the_loopback_only() -> None:
    """The local broker knows no passwords: nobody else may reach it."""
    told = properties_of(a_plan(nodes=1))

    assert told["listeners"] == "BROKER://127.0.0.1:9092,CONTROLLER://127.0.0.1:19092"
    assert told["advertised.listeners"] == "BROKER://127.0.0.1:9092"


@pytest.mark.parametrize(("nodes", "replicas", "min_insync"), [(1, "1", "1"), (3, "3", "2")])
def test_copies_follow_the_number_of_nodes(nodes: int, replicas: str, min_insync: str) -> None:
    """Kafka's own topics default to three copies, which one node can never make."""
    told = properties_of(a_plan(nodes=nodes))

    assert {
        told["offsets.topic.replication.factor"],
        told["transaction.state.log.replication.factor"],
        told["default.replication.factor"],
    } == {replicas}
    assert {told["transaction.state.log.min.isr"], told["min.insync.replicas"]} == {min_insync}


def test_settings_that_guard_data_are_on() -> None:
    """A topic by typing error and a leader that lost records are both silent losses."""
    told = properties_of(a_plan(nodes=3))

    assert told["auto.create.topics.enable"] == "false"
    assert told["unclean.leader.election.enable"] == "false"


def test_records_of_four_mebibytes_pass() -> None:
    """Producers and topics allow them, so the broker and its followers must."""
    told = properties_of(a_plan(nodes=1))

    assert {told["message.max.bytes"], told["replica.fetch.max.bytes"]} == {str(4 * 1024 * 1024)}


def test_nodes_know_each_other() -> None:
    """Three nodes that do not know each other are three clusters."""
    plan = a_plan(nodes=3)

    assert properties_of(plan)["controller.quorum.voters"] == (
        "1@127.0.0.1:19092,2@127.0.0.1:19093,3@127.0.0.1:19094"
    )
    assert plan.bootstrap_servers == "127.0.0.1:9092,127.0.0.1:9093,127.0.0.1:9094"


def test_log_goes_to_files_of_limited_size() -> None:
    """The broker prints nothing on the user's terminal and never fills the disk with its log."""
    assert "Console" not in LOG4J2
    assert "policies.size = 10MB" in LOG4J2


def test_node_that_is_alone_keeps_its_session_through_a_pause() -> None:
    """A lone broker that is taken for dead while it lives loses the ends of transactions."""
    told = properties_of(a_plan(nodes=1))

    assert int(told["broker.session.timeout.ms"]) >= 30_000


def test_controller_alone_is_the_same_node() -> None:
    """It reads the node's own log, and ends the session of the broker that was killed."""
    told = properties_of(a_plan(nodes=1), controller_properties)

    assert (told["process.roles"], told["node.id"], told["log.dirs"]) == ("controller", "1", "data")
    assert told["listeners"] == "CONTROLLER://127.0.0.1:19092"
