import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ops.kafka.process import BrokerProcess, command_line, find_process, mark_of, until, write_pid
from ops.kafka.watchdog import dismiss, watch
from tests.architecture import ROOT

DEADLINE_S = 10.0


@contextmanager
def a_node(folder: Path, program: str = "") -> Iterator["subprocess.Popen[bytes]"]:
    """A process that stands for the node in the folder: its command line holds the mark."""
    waits = f"{program}\nprint('up', flush=True)\ninput()"
    with subprocess.Popen(
        [sys.executable, "-S", "-c", waits, mark_of(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


def process_of(node: "subprocess.Popen[bytes]", folder: Path) -> BrokerProcess:
    """The node as other processes know it."""
    return BrokerProcess(pid=node.pid, mark=mark_of(folder))


def test_process_is_found_by_its_folder(tmp_path: Path) -> None:
    """Stop and status come from other terminals."""
    with a_node(tmp_path) as node:
        write_pid(tmp_path, node.pid)

        assert find_process(tmp_path) == process_of(node, tmp_path)


def test_pid_of_another_process_is_not_ours(tmp_path: Path) -> None:
    """After a reboot the pid in the file belongs to somebody else, who must not be killed."""
    write_pid(tmp_path, os.getpid())

    assert find_process(tmp_path) is None


@pytest.mark.parametrize("content", ["", "gone", "999999999"])
def test_stale_pid_file_finds_nothing(tmp_path: Path, content: str) -> None:
    """A full disk or a crash may leave any content."""
    (tmp_path / "pid").write_text(content)

    assert find_process(tmp_path) is None


def test_pid_that_a_full_disk_refuses_leaves_the_one_before(tmp_path: Path) -> None:
    """With an empty file nobody would find the node, and a second one would start beside it."""
    refused = (
        "import resource, sys; from pathlib import Path; from ops.kafka.process import write_pid; "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)); write_pid(Path(sys.argv[1]), 2)"
    )
    write_pid(tmp_path, 1)

    told = subprocess.run(
        [sys.executable, "-c", refused, str(tmp_path)], cwd=ROOT, capture_output=True, check=False
    )

    assert (b"OSError" in told.stderr, (tmp_path / "pid").read_text()) == (True, "1\n")


def test_folder_without_a_pid_file_finds_nothing(tmp_path: Path) -> None:
    """A node that never ran has none."""
    assert find_process(tmp_path) is None


def test_mark_of_a_folder_is_not_part_of_another() -> None:
    """node-1 is not node-10."""
    assert mark_of(Path("/data/node-1")) not in mark_of(Path("/data/node-10"))


def test_process_that_ignores_the_request_is_killed(tmp_path: Path) -> None:
    """A stop that hangs for ever is no stop."""
    with a_node(tmp_path, "import signal; signal.signal(15, signal.SIG_IGN)") as node:
        process = process_of(node, tmp_path)

        process.terminate()
        assert process.is_alive()
        process.kill()

        assert not process.is_alive()
        assert node.wait(DEADLINE_S) == -9


def test_signal_to_a_process_that_is_gone_is_nothing(tmp_path: Path) -> None:
    """It may end by itself between the look and the signal."""
    BrokerProcess(pid=999_999_999, mark=mark_of(tmp_path)).kill()

    assert command_line(999_999_999) == ""


def test_watchdog_ends_the_process_when_its_pipe_closes(tmp_path: Path) -> None:
    """The kernel closes the pipe of an owner that is killed."""
    with a_node(tmp_path) as node:
        watchdog = watch(process_of(node, tmp_path))

        watchdog.communicate()

        assert node.wait(DEADLINE_S) == -15


def test_dismissed_watchdog_leaves_the_process_alone(tmp_path: Path) -> None:
    """A node that was stopped and started again has a new watchdog."""
    with a_node(tmp_path) as node:
        dismiss(watch(process_of(node, tmp_path)))

        assert node.poll() is None


def test_wait_ends_at_its_deadline() -> None:
    """Every wait has one."""
    assert not until(lambda: False, deadline_s=0.01)
