"""The cluster that a folder holds, as any process may find it.

Owns: the folder's layout, its memory of ids and ports, status, and the end of a whole cluster.
May not: start a node.
"""

import base64
import json
import uuid
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from ops.kafka.errors import ClusterRefused
from ops.kafka.ports import free_ports
from ops.kafka.process import BrokerProcess, find_process
from ops.kafka.properties import HOST, ClusterPlan, NodeAddress
from ops.kafka.ready import brokers_seen

STOP_DEADLINE_S: Final = 30.0
# Nodes that end together wait 5 s for each other's controllers; one that is left without a majority
# by then would wait for minutes, and is killed.
STOP_TOGETHER_DEADLINE_S: Final = 12.0
STATUS_DEADLINE_S: Final = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeStatus:
    """A node as seen from outside; pid 0 when no process runs."""

    node_id: int
    address: str
    pid: int

    @property
    def is_running(self) -> bool:
        """Its process runs."""
        return self.pid != 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterStatus:
    """A cluster as seen from outside. It is up when every node runs and one of them answers."""

    data_dir: str
    bootstrap_servers: str
    is_up: bool
    nodes: tuple[NodeStatus, ...]


def install_folder(data_dir: Path) -> Path:
    """Where the jars of a data folder lie."""
    return data_dir.absolute() / "kafka"


def cluster_folder(data_dir: Path) -> Path:
    """Where the cluster of a data folder lies."""
    return data_dir.absolute() / "kafka" / "cluster"


def node_folder(data_dir: Path, node_id: int) -> Path:
    """Where a node lies."""
    return cluster_folder(data_dir) / f"node-{node_id}"


def moved_aside(data_dir: Path) -> list[str]:
    """The partitions that a broker found and did not know: it renames them, and keeps them."""
    return [folder.name for folder in cluster_folder(data_dir).glob("node-*/data/*-stray")]


def stored_plan(data_dir: Path) -> ClusterPlan | None:
    """The cluster that the folder holds, on the ports of its last start; None when it has none."""
    try:
        stored = json.loads((cluster_folder(data_dir) / "cluster.json").read_bytes())
    except FileNotFoundError:
        return None
    nodes = tuple(NodeAddress(**node) for node in stored["nodes"])
    return ClusterPlan(cluster_id=stored["cluster_id"], nodes=nodes)


def store_plan(data_dir: Path, plan: ClusterPlan) -> None:
    """Remember the cluster and its ports. A crash leaves the old memory or the new one."""
    path = cluster_folder(data_dir) / "cluster.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_suffix(".new").write_text(json.dumps(asdict(plan)), encoding="ascii")
    path.with_suffix(".new").replace(path)


def plan_cluster(data_dir: Path, *, nodes: int, ports: Iterable[int]) -> ClusterPlan:
    """The folder's cluster, or a new one, on these client ports and free controller ports.

    Raises ClusterRefused when the folder holds a cluster of another size.
    """
    stored = stored_plan(data_dir)
    if stored and len(stored.nodes) != nodes:
        raise ClusterRefused(
            f"{data_dir} holds a cluster of {len(stored.nodes)}: start it with "
            f"--nodes {len(stored.nodes)}, or name another folder with --data-dir."
        )
    both = zip(ports, free_ports(nodes), strict=True)
    return ClusterPlan(
        cluster_id=stored.cluster_id if stored else _new_cluster_id(),
        nodes=tuple(
            NodeAddress(node_id=number, port=port, controller_port=controller)
            for number, (port, controller) in enumerate(both, start=1)
        ),
    )


def _new_cluster_id() -> str:
    """Kafka's form of a UUID. The letter in front keeps a tool from reading it as an option."""
    return "k" + base64.urlsafe_b64encode(uuid.uuid4().bytes).decode()[1:22]


def running(data_dir: Path) -> list[BrokerProcess]:
    """The live processes of the folder's cluster."""
    plan = stored_plan(data_dir)
    folders = [node_folder(data_dir, node.node_id) for node in plan.nodes] if plan else []
    return [process for process in map(find_process, folders) if process]


def cluster_status(data_dir: Path) -> ClusterStatus:
    """What runs and whether it answers; takes at most ten seconds."""
    plan = stored_plan(data_dir)
    if plan is None:
        return ClusterStatus(data_dir=str(data_dir), bootstrap_servers="", is_up=False, nodes=())
    nodes = tuple(_node_status(data_dir, node) for node in plan.nodes)
    is_up = all(node.is_running for node in nodes) and bool(
        brokers_seen(plan.bootstrap_servers, deadline_s=STATUS_DEADLINE_S)
    )
    return ClusterStatus(
        data_dir=str(data_dir),
        bootstrap_servers=plan.bootstrap_servers,
        is_up=is_up,
        nodes=nodes,
    )


def _node_status(data_dir: Path, node: NodeAddress) -> NodeStatus:
    process = find_process(node_folder(data_dir, node.node_id))
    return NodeStatus(
        node_id=node.node_id,
        address=f"{HOST}:{node.port}",
        pid=process.pid if process else 0,
    )


def stop_cluster(data_dir: Path) -> list[int]:
    """End all nodes together and return when they are gone; the pids that had to be killed.

    Together, because a node that is left without a majority cannot say goodbye to anyone.
    """
    processes = running(data_dir)
    for process in processes:
        process.terminate()
    deadline_s = STOP_DEADLINE_S if len(processes) == 1 else STOP_TOGETHER_DEADLINE_S
    with ThreadPoolExecutor(max(1, len(processes))) as pool:
        is_gone = list(pool.map(lambda each: each.wait(deadline_s), processes))
    killed = [each for each, gone in zip(processes, is_gone, strict=True) if not gone]
    for process in killed:
        process.kill()
    return [process.pid for process in killed]
