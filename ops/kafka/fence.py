"""After a crash of a cluster's only node: its old registration is ended before it starts again.

A node that was killed still counts as a live broker until its session ends. Started within that
time, Kafka 4.3 takes up its transactions while their partitions are about to lose their leader,
takes those for deleted, and never writes the transactions' markers: read_committed readers and
committed offsets then hang for ever ("Couldn't find leader endpoint for partitions" in its log).
So the controller alone is started first, with a short session, until it has fenced the broker.

Owns: that short run. It costs 1.6 s, and saves the 3 s of waiting for the old session.
May not: matter to a cluster of several nodes, where another node leads.
"""

import re
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from ops.kafka.jvm import Jvm
from ops.kafka.process import BrokerProcess, mark_of, spawn, until, write_pid
from ops.kafka.properties import ClusterPlan, NodeAddress, controller_properties
from ops.kafka.watchdog import dismiss, watch

# A controller is up in a second; 20 s were seen on a machine with nine processes a core.
FENCE_DEADLINE_S: Final = 60.0
STOP_DEADLINE_S: Final = 10.0
# Lines of the controller's log. It replays the past first: what was fenced then counts no more.
IS_ACTIVE: Final = "Activated periodic tasks"
FENCING: Final = re.compile(r"\bfenced=(-?1)\b")
FENCED: Final = "1"
PROPERTIES: Final = "fence.properties"


def has_crashed(folder: Path) -> bool:
    """Whether the node in this folder ran once and did not end in good order."""
    data = folder / "data"
    has_run = (data / "__cluster_metadata-0").is_dir()
    return has_run and not (data / ".kafka_cleanshutdown").exists()


def fence(folder: Path, *, plan: ClusterPlan, address: NodeAddress, jvm: Jvm) -> bool:
    """Run the controller alone until the broker is fenced; whether it was in time.

    Where it was not, the node may start all the same: it then waits for its old session.
    """
    text = controller_properties(plan, address, log_dir="data")
    (folder / PROPERTIES).write_text(text, encoding="utf-8")
    log = folder / "server.log"
    with (
        spawn(jvm.broker(mark_of(folder), PROPERTIES), folder=folder) as controller,
        ExitStack() as ended,
    ):
        ended.callback(controller.kill)
        # One that outlived us would write to the metadata together with the node that starts next.
        ended.callback(dismiss, watch(BrokerProcess(pid=controller.pid, mark=mark_of(folder))))
        write_pid(folder, controller.pid)
        until(
            lambda: _is_fenced(log) or controller.poll() is not None,
            deadline_s=FENCE_DEADLINE_S,
        )
        controller.terminate()
        until(lambda: controller.poll() is not None, deadline_s=STOP_DEADLINE_S)
    return _is_fenced(log)


def _is_fenced(log: Path) -> bool:
    try:
        text = log.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return False
    return says_fenced(text)


def says_fenced(text: str) -> bool:
    """Whether the broker is fenced, by an active controller's log; -1 is unfenced, 0 no change."""
    return IS_ACTIVE in text and FENCING.findall(text)[-1:] == [FENCED]
