"""`onereply topics` against a real broker."""

from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from ops.kafka.cluster import store_plan
from ops.kafka.properties import ClusterPlan, NodeAddress
from schemas.topics import Topic
from tests.commands import as_json, onereply

PARTITIONS = "2"


@pytest.fixture
def environ(broker: str, prefix: str) -> dict[str, str]:
    """A corner of the tests' broker without topics."""
    return {
        "ONEREPLY_BOOTSTRAP_SERVERS": broker,
        "ONEREPLY_TOPIC_PREFIX": prefix,
        "ONEREPLY_DURABILITY": "single-node",
        "ONEREPLY_PARTITIONS": PARTITIONS,
    }


def topics(*arguments: str, environ: dict[str, str]) -> tuple[int, dict[str, Any]]:
    """The exit code, and what the command says to scripts."""
    told = onereply("topics", *arguments, "--json", **environ)
    return told.returncode, as_json(told)


def test_create_shows_its_plan_and_does_nothing(environ: dict[str, str]) -> None:
    """A tool that changes a cluster is read before it acts."""
    code, told = topics("create", environ=environ)

    assert (code, len(told["create"]), told["done"]) == (0, len(Topic), [])
    assert topics("check", environ=environ)[0] == 1


def test_what_was_created_is_as_declared_and_needs_nothing_more(environ: dict[str, str]) -> None:
    """Safe to repeat: whoever is not sure runs it again."""
    code, told = topics("create", "--execute", environ=environ)

    assert (code, len(told["done"])) == (0, len(Topic))
    assert topics("check", environ=environ) == (0, {"differences": []})
    again: dict[str, Any] = {"create": [], "set_options": [], "left": [], "done": []}
    assert topics("create", "--execute", environ=environ) == (0, again)


def test_option_that_differs_is_planned_and_set(
    environ: dict[str, str], broker: str, prefix: str
) -> None:
    """A topic that somebody made by hand keeps its records, and gets the declared options."""
    name = f"{prefix}{Topic.AUDIT}"
    client = AdminClient({"bootstrap.servers": broker})
    odd = NewTopic(name, num_partitions=int(PARTITIONS), config={"retention.ms": "1000"})
    client.create_topics([odd])[name].result()

    planned = topics("create", environ=environ)[1]["set_options"]

    assert [line for line in planned if "retention.ms" in line] == [
        f"{name}: retention.ms from 1000 to 34560000000"
    ]
    topics("create", "--execute", environ=environ)
    assert topics("check", environ=environ)[0] == 0


def test_changed_partition_count_is_told_and_never_mended(environ: dict[str, str]) -> None:
    """More partitions send keys to where their state is not: every dedupe row would be lost."""
    topics("create", "--execute", environ=environ)
    grown = environ | {"ONEREPLY_PARTITIONS": "3"}

    code, told = topics("create", "--execute", environ=grown)

    assert code == 1
    assert all("has 2 partitions, declared 3" in line for line in told["left"])
    assert topics("check", environ=environ)[0] == 0


def test_no_broker_is_one_sentence() -> None:
    """The first thing that goes wrong for a newcomer."""
    told = onereply("topics", "check", ONEREPLY_BOOTSTRAP_SERVERS="127.0.0.1:9")

    assert (told.returncode, told.stderr) == (3, "Error: No Kafka answers at 127.0.0.1:9.\n")


def test_too_few_brokers_for_three_copies_say_what_to_set(environ: dict[str, str]) -> None:
    """The default is meant for a cluster, and the first broker is one."""
    told = onereply(
        "topics", "create", "--execute", **environ | {"ONEREPLY_DURABILITY": "replicated"}
    )

    assert told.returncode == 2
    assert "ONEREPLY_DURABILITY=single-node" in told.stderr


def test_topics_with_one_copy_are_never_made_to_wait_for_a_second(
    environ: dict[str, str],
) -> None:
    """Nothing could be written any more, and the run whose topics they are would stand still."""
    topics("create", "--execute", environ=environ)
    replicated = environ | {"ONEREPLY_DURABILITY": "replicated"}

    code, told = topics("create", "--execute", environ=replicated)

    assert (code, told["set_options"], told["done"]) == (1, [], [])
    assert told["left"][0].startswith("The cluster has fewer than 3 brokers. Set ONEREPLY_DURA")
    assert topics("check", environ=environ)[0] == 0


def test_create_shows_what_is_wrong_with_kafkas_own_topics(environ: dict[str, str]) -> None:
    """A process would refuse to start after all topics were made."""
    replicated = environ | {"ONEREPLY_DURABILITY": "replicated"}

    code, told = topics("create", environ=replicated)

    internal = [line for line in told["left"] if line.startswith("__")]
    assert (code, {line.partition(":")[0] for line in internal}) == (
        1,
        {"__transaction_state", "__consumer_offsets"},
    )


def test_local_broker_of_the_data_folder_is_the_one_that_is_meant(
    tmp_path: Path, broker: str, environ: dict[str, str]
) -> None:
    """Whoever has started a Kafka here means that one, and it holds one copy."""
    port = int(broker.rpartition(":")[2])
    node = NodeAddress(node_id=1, port=port, controller_port=1)
    store_plan(tmp_path, ClusterPlan(cluster_id="k", nodes=(node,)))
    here = {
        "ONEREPLY_TOPIC_PREFIX": environ["ONEREPLY_TOPIC_PREFIX"],
        "ONEREPLY_DATA_DIR": str(tmp_path),
    }

    code, told = topics("create", "--execute", environ=here)

    assert (code, len(told["done"]), told["left"]) == (0, len(Topic), [])
    assert topics("check", environ=here) == (0, {"differences": []})


def test_list_needs_no_broker_and_names_every_topic() -> None:
    """What there is can be read before anything runs."""
    told = onereply("topics", "list")

    assert told.returncode == 0
    assert [topic for topic in Topic if topic not in told.stdout] == []
