"""A local Kafka cluster, real and loopback only: `with LocalKafka(folder) as kafka`.

Owns: the order of a start (ports, jars, Java, format, processes, answers), and that nothing of a
start that failed stays behind.
May not: delete the folder's data.
"""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from ops.kafka.cluster import (
    STOP_DEADLINE_S,
    cluster_folder,
    install_folder,
    moved_aside,
    node_folder,
    plan_cluster,
    running,
    stop_cluster,
    store_plan,
)
from ops.kafka.errors import AlreadyRunning, BrokerAway, plain_words
from ops.kafka.install import install
from ops.kafka.jvm import Jvm
from ops.kafka.locks import alone
from ops.kafka.node import Lifetime, Node, PortTaken
from ops.kafka.ports import free_ports, require_free
from ops.kafka.properties import HOST, ClusterPlan
from ops.kafka.ready import wait_until_answered
from ops.kafka.room import require_room
from ops.kafka.telling import Silence, Teller

# A start takes 2 s, and 40 s were seen on a machine with nine processes a core.
START_DEADLINE_S: Final = 120.0
# Free ports that another process took before the broker could are chosen anew.
PORT_TRIES: Final = 3


class LocalKafka:
    """A cluster of one or three nodes in a folder. Its data outlives it; its processes do not.

    `port` is the first node's, and the next nodes take the next ones; None chooses free ports.
    The jars lie in `install_dir`, a data folder too; None is the cluster's own data folder.
    Set `is_steady` before the start of one that runs for long, to be fast then rather than soon.
    """

    def __init__(
        self,
        data_dir: Path,
        *,
        port: int | None = None,
        nodes: int = 1,
        install_dir: Path | None = None,
        teller: Teller | None = None,
    ) -> None:
        self.data_dir = data_dir.absolute()
        self.java = ""
        self.is_steady = False
        self._port, self._count = port, nodes
        self._install_dir = install_folder(install_dir or data_dir)
        self._teller = teller or Silence()
        self._plan: ClusterPlan | None = None
        self._nodes: dict[int, Node] = {}

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def bootstrap_servers(self) -> str:
        """Where clients start: `127.0.0.1:port`, joined by commas."""
        if self._plan is None:
            raise BrokerAway("Kafka has not been started.")
        return self._plan.bootstrap_servers

    def start(self, lifetime: Lifetime = Lifetime.OWNED) -> None:
        """Return when all nodes answer.

        Raises BrokerAway, JarRefused, ClusterRefused; then nothing runs.
        """
        lock = cluster_folder(self.data_dir) / "lock"
        with (
            plain_words(self.data_dir),
            alone(lock, teller=self._teller, work="starting Kafka"),
        ):
            if running(self.data_dir):
                raise AlreadyRunning(f"The Kafka in {self.data_dir} runs already.")
            require_room(self.data_dir)
            given = self._given_ports()
            jvm = install(self._install_dir, teller=self._teller)
            jvm = jvm.steady() if self.is_steady else jvm
            self.java = str(jvm.java)
            self._start_on(given, jvm, lifetime=lifetime)
        if aside := moved_aside(self.data_dir):
            self._teller.say(
                f"Kafka does not know {len(aside)} of the partitions that it holds, and has moved "
                'them aside: docs/operations.md says what to do ("A full disk").'
            )

    def stop(self) -> list[int]:
        """End all nodes in good order; the pids of those that had to be killed."""
        killed = stop_cluster(self.data_dir)
        for node in self._nodes.values():
            node.kill()
        return killed

    def kill(self, node_id: int = 1) -> None:
        """End a node as a crash would (SIGKILL), and return when it is gone."""
        self._nodes[node_id].kill()

    def stop_node(self, node_id: int = 1) -> None:
        """End one node in good order, and return when it is gone."""
        self._nodes[node_id].stop(STOP_DEADLINE_S)

    def start_node(self, node_id: int = 1) -> None:
        """Start a node again on its own ports; return when it answers. Raises BrokerAway."""
        node = self._nodes[node_id]
        with plain_words(self.data_dir):
            node.start(Lifetime.OWNED)
            _wait([node])

    def require_running(self) -> None:
        """Return when every node's process runs. Raises BrokerAway with the reason of one."""
        for node in self._nodes.values():
            node.require_running()

    def _given_ports(self) -> list[int]:
        ports = [] if self._port is None else [self._port + step for step in range(self._count)]
        for port in ports:
            require_free(port)
        return ports

    def _start_on(self, given: list[int], jvm: Jvm, *, lifetime: Lifetime) -> None:
        for left in reversed(range(PORT_TRIES)):
            ports = given or free_ports(self._count)
            self._plan = plan_cluster(self.data_dir, nodes=self._count, ports=ports)
            try:
                self._bring_up(self._plan, jvm, lifetime=lifetime)
            except PortTaken:
                if given or not left:
                    raise
            else:
                return

    def _bring_up(self, plan: ClusterPlan, jvm: Jvm, *, lifetime: Lifetime) -> None:
        store_plan(self.data_dir, plan)
        nodes = [
            Node(node_folder(self.data_dir, each.node_id), plan=plan, address=each, jvm=jvm)
            for each in plan.nodes
        ]
        try:
            with ThreadPoolExecutor(len(nodes)) as pool:
                list(pool.map(Node.prepare, nodes))
            for node in nodes:
                node.start(lifetime)
            _wait(nodes)
        except BaseException:
            for node in nodes:
                node.kill()
            raise
        self._nodes = {node.address.node_id: node for node in nodes}


def _wait(nodes: list[Node]) -> None:
    """Return when these nodes are in the cluster. Raises BrokerAway."""

    def check() -> None:
        for node in nodes:
            node.require_running()

    answered = wait_until_answered(
        ",".join(f"{HOST}:{node.address.port}" for node in nodes),
        by=frozenset(node.address.node_id for node in nodes),
        deadline_s=START_DEADLINE_S,
        check=check,
    )
    if not answered:
        raise BrokerAway(
            f"Kafka did not answer within {START_DEADLINE_S:.0f} s. Its log: {nodes[0].folder}"
        )
