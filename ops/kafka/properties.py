"""What a node is told: its server.properties and its log4j2.properties, as text.

Owns: every broker setting, with the reason where it is not Kafka's default.
May not: write a file or pick a port.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from schemas.topics import MAX_RECORD_BYTES

HOST: Final = "127.0.0.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeAddress:
    """Where a node listens: for clients and for the other nodes' controllers."""

    node_id: int
    port: int
    controller_port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterPlan:
    """A cluster: its id and its one or three nodes, each broker and controller in one."""

    cluster_id: str
    nodes: tuple[NodeAddress, ...]

    @property
    def bootstrap_servers(self) -> str:
        """Where clients start."""
        return ",".join(f"{HOST}:{node.port}" for node in self.nodes)

    @property
    def replicas(self) -> int:
        """Copies of each record."""
        return len(self.nodes)

    @property
    def min_insync(self) -> int:
        """Copies that must hold a record before it is acked: all but one, and at least one."""
        return max(1, len(self.nodes) - 1)


def server_properties(plan: ClusterPlan, node: NodeAddress, *, log_dir: str) -> str:
    """The node's server.properties. The log folder is relative to the node's own folder."""
    own = {**_addresses(plan, node), "log.dirs": log_dir, **_copies(plan)}
    patience = ALONE if plan.replicas == 1 else TOGETHER
    return _lines({**own, **SMALL, **SAFE, **QUICK, **patience})


def controller_properties(plan: ClusterPlan, node: NodeAddress, *, log_dir: str) -> str:
    """The same node as a controller alone, which ends a silent broker's session at once."""
    addresses = _addresses(plan, node)
    kept = ("node.id", "controller.quorum.voters", "controller.listener.names")
    own = {
        "process.roles": "controller",
        "listeners": f"CONTROLLER://{HOST}:{node.controller_port}",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT",
        "log.dirs": log_dir,
        "broker.heartbeat.interval.ms": 100,
        "broker.session.timeout.ms": 300,
    }
    return _lines({name: addresses[name] for name in kept} | own)


def _addresses(plan: ClusterPlan, node: NodeAddress) -> dict[str, object]:
    voters = ",".join(f"{each.node_id}@{HOST}:{each.controller_port}" for each in plan.nodes)
    return {
        "process.roles": "broker,controller",
        "node.id": node.node_id,
        "controller.quorum.voters": voters,
        "listeners": f"BROKER://{HOST}:{node.port},CONTROLLER://{HOST}:{node.controller_port}",
        "advertised.listeners": f"BROKER://{HOST}:{node.port}",
        "listener.security.protocol.map": "BROKER:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "BROKER",
        "controller.listener.names": "CONTROLLER",
    }


def _copies(plan: ClusterPlan) -> dict[str, object]:
    return {
        "default.replication.factor": plan.replicas,
        "min.insync.replicas": plan.min_insync,
        "offsets.topic.replication.factor": plan.replicas,
        "transaction.state.log.replication.factor": plan.replicas,
        "transaction.state.log.min.isr": plan.min_insync,
        "share.coordinator.state.topic.replication.factor": plan.replicas,
        "share.coordinator.state.topic.min.isr": plan.min_insync,
    }


# One machine, 512 MB of heap: fewer threads and partitions, and no 128 MB buffer for the cleaner.
SMALL: Final[Mapping[str, object]] = {
    "num.network.threads": 2,
    "num.io.threads": 4,
    "background.threads": 2,
    "offsets.topic.num.partitions": 4,
    "transaction.state.log.num.partitions": 4,
    "share.coordinator.state.topic.num.partitions": 1,
    "log.cleaner.threads": 1,
    "log.cleaner.dedupe.buffer.size": 16 * 1024 * 1024,
}

SAFE: Final[Mapping[str, object]] = {
    "auto.create.topics.enable": "false",
    "unclean.leader.election.enable": "false",
    "message.max.bytes": MAX_RECORD_BYTES,
    "replica.fetch.max.bytes": MAX_RECORD_BYTES,
    # Longer than any transaction of ours, short enough that a forgotten one frees its readers.
    "transaction.max.timeout.ms": 5 * 60 * 1000,
}

QUICK: Final[Mapping[str, object]] = {
    "group.initial.rebalance.delay.ms": 0,
    # A timed-out transaction is looked for each second, not each ten: its readers wait for it.
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": 1_000,
    "broker.heartbeat.interval.ms": 500,
}

# Nobody could take over from a node that is alone, and a session that ends while it lives does harm
# (fence.py). It is let in again after a kill because its old session was ended by hand.
ALONE: Final[Mapping[str, object]] = {"broker.session.timeout.ms": 30_000}
# After a kill a node is let in again when its old session ends: 3 s, not 9.
TOGETHER: Final[Mapping[str, object]] = {"broker.session.timeout.ms": 3_000}


def _lines(settings: Mapping[str, object]) -> str:
    return "".join(f"{name}={value}\n" for name, value in settings.items())


# The JVM prints nothing and the broker logs to one file, at most 40 MB with its older parts.
LOG4J2: Final = """\
status = off
appender.file.type = RollingFile
appender.file.name = file
appender.file.fileName = server.log
appender.file.filePattern = server.log.%i
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{ISO8601} %p %c{1}: %m%n
appender.file.policies.type = SizeBasedTriggeringPolicy
appender.file.policies.size = 10MB
appender.file.strategy.type = DefaultRolloverStrategy
appender.file.strategy.max = 3
rootLogger.level = info
rootLogger.appenderRef.file.ref = file
"""
