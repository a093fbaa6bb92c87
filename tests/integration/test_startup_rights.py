"""The start-up check for a user who may not see everything, on a real broker with real rights."""

from collections.abc import Iterator
from contextlib import suppress
from subprocess import DEVNULL, Popen
from typing import Final

import psutil
import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)

from ops.kafka.broker import LocalKafka
from ops.kafka.cluster import node_folder, running
from ops.kafka.process import until
from ops.kafka.ready import wait_until_answered
from ops.kafka.telling import Silence
from schemas.cluster import admin, create_topics
from schemas.errors import ClusterMismatch
from schemas.internal_topics import Copies
from schemas.settings import Settings, load_settings
from schemas.startup import check_cluster, seen_internal
from tests.broker import DATA_DIR

DEADLINE_S: Final = 60.0
WITH_RIGHTS: Final = """
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
allow.everyone.if.no.acl.found=true
"""
CLUSTER: Final = "kafka-cluster"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """A broker that keeps rights; nobody has lost any yet."""
    tmp_path = tmp_path_factory.mktemp("guarded")
    with LocalKafka(tmp_path, install_dir=DATA_DIR, teller=Silence()) as kafka:
        settings = load_settings(
            bootstrap_servers=kafka.bootstrap_servers, durability="single-node"
        )
        (node,) = running(tmp_path)
        command = psutil.Process(node.pid).cmdline()
    folder = node_folder(tmp_path, 1)
    with (folder / "server.properties").open("a") as properties:
        properties.write(WITH_RIGHTS)
    with Popen(command, cwd=folder, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL) as broker:
        try:
            assert wait_until_answered(
                settings.bootstrap_servers,
                by=frozenset({1}),
                deadline_s=DEADLINE_S,
                check=lambda: None,
            )
            yield settings
        finally:
            broker.kill()


def forbid_configs(settings: Settings, kind: ResourceType, name: str) -> None:
    """Take the right to describe the configs of it, and no other right."""
    rights = {
        AclOperation.ALL: AclPermissionType.ALLOW,
        AclOperation.DESCRIBE_CONFIGS: AclPermissionType.DENY,
    }
    literal, anyone = ResourcePatternType.LITERAL, "User:ANONYMOUS"
    bindings = [
        AclBinding(kind, name, literal, anyone, "*", operation, permission)
        for operation, permission in rights.items()
    ]
    client = admin(settings)
    for made in client.create_acls(bindings).values():
        made.result(DEADLINE_S)


def test_what_may_not_be_seen_of_kafkas_own_topics_is_named_and_stops_nobody(
    guarded: Settings,
) -> None:
    """Few users of a shared cluster may describe its brokers."""
    create_topics(guarded)
    client = admin(guarded)
    forbid_configs(guarded, ResourceType.BROKER, CLUSTER)

    unseen = ("no right to describe the configs of broker 1",)
    assert until(lambda: seen_internal(client).unseen == unseen, deadline_s=DEADLINE_S)
    assert set(seen_internal(client).planned.values()) == {
        (Copies(replication=None, min_insync=None),)
    }
    check_cluster(guarded)


def test_own_topic_that_may_not_be_described_is_no_broker_that_is_away(guarded: Settings) -> None:
    """Waiting does not give a right; the sentence says which one is missing."""
    settings = guarded.model_copy(update={"topic_prefix": "p-"})
    create_topics(settings)
    forbid_configs(settings, ResourceType.TOPIC, "p-audit")

    def is_refused() -> bool:
        with suppress(ClusterMismatch):
            check_cluster(settings)
            return False
        return True

    assert until(is_refused, deadline_s=DEADLINE_S)
    with pytest.raises(ClusterMismatch) as caught:
        check_cluster(settings)
    assert caught.value.differences == (
        "p-audit: its options may not be seen; give this user the right to DescribeConfigs on it",
    )
