"""What a controller's log says of the broker, and how a crash is known afterwards."""

import subprocess
import sys
from pathlib import Path

import pytest

from ops.kafka.fence import has_crashed, says_fenced
from ops.kafka.process import find_process, until
from tests.architecture import ROOT

DEADLINE_S = 20.0
# Fences the node in the folder that it is given, by the folder's own Java.
OWNER = """
import sys
from pathlib import Path
from ops.kafka.fence import fence
from ops.kafka.java import Java
from ops.kafka.jvm import Jvm
from ops.kafka.properties import ClusterPlan, NodeAddress
folder = Path(sys.argv[1])
address = NodeAddress(node_id=1, port=1, controller_port=2)
java = Java(executable=folder / "java", version="25", origin="test")
plan = ClusterPlan(cluster_id="k", nodes=(address,))
fence(folder, plan=plan, address=address, jvm=Jvm(java=java, class_path=""))
"""

ACTIVE = "INFO PeriodicTaskControlManager: Activated periodic tasks: electPreferred\n"


def change(fenced: int) -> str:
    """A line about the broker's registration."""
    return f"Replayed BrokerRegistrationChangeRecord(brokerId=1, fenced={fenced}, logDirs=[])\n"


@pytest.mark.parametrize(
    ("text", "is_fenced"),
    [
        ("", False),
        (change(1), False),
        (change(-1) + ACTIVE, False),
        (change(-1) + ACTIVE + change(1), True),
        (change(1) + change(-1) + ACTIVE, False),
        (change(1) + ACTIVE, True),
        (change(1) + change(0) + ACTIVE, True),
    ],
    ids=[
        "nothing yet",
        "the past is being read",
        "live",
        "fenced now",
        "fenced once and live again",
        "fenced when it crashed",
        "a change that is none",
    ],
)
def test_broker_is_fenced_when_the_last_change_says_so(text: str, *, is_fenced: bool) -> None:
    """A controller first repeats what happened in earlier lives."""
    assert says_fenced(text) is is_fenced


def test_node_that_never_ran_did_not_crash(tmp_path: Path) -> None:
    """A new folder holds no registration to fence."""
    (tmp_path / "data").mkdir()

    assert not has_crashed(tmp_path)


def test_node_that_ran_and_left_no_goodbye_crashed(tmp_path: Path) -> None:
    """Kafka leaves a file when it ends in good order, and removes it when it starts."""
    (tmp_path / "data" / "__cluster_metadata-0").mkdir(parents=True)
    assert has_crashed(tmp_path)

    (tmp_path / "data" / ".kafka_cleanshutdown").touch()
    assert not has_crashed(tmp_path)


def test_controller_does_not_outlive_whoever_runs_it(tmp_path: Path) -> None:
    """It would write to the metadata together with the node that is started next."""
    java = tmp_path / "java"
    java.write_text(f"#!{sys.executable} -S\nimport signal\nsignal.pause()\n")
    java.chmod(0o700)
    owner = subprocess.Popen([sys.executable, "-c", OWNER, str(tmp_path)], cwd=ROOT)
    assert until(lambda: find_process(tmp_path) is not None, deadline_s=DEADLINE_S)
    controller = find_process(tmp_path)

    owner.kill()
    owner.wait()

    assert controller is not None
    assert controller.wait(DEADLINE_S)
