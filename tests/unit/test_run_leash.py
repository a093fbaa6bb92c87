import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from ops.kafka.process import until

DEADLINE_S = 20.0
ROOT = Path(__file__).parents[2]
# An owner that starts a part and says its pid; the part ignores SIGTERM.
OWNER = """
import os, subprocess, sys
part = subprocess.Popen(
    [sys.executable, "-m", "ops.run.leash", str(os.getpid()), "tests.parts", "stubborn"],
    stdin=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
)
part.stderr.readline()
print(part.pid, flush=True)
input()
"""
# The way of systems without prctl.
BY_PIPE = """
import sys, threading
from ops.run.leash import end_with_the_pipe
threading.Thread(target=end_with_the_pipe, daemon=True).start()
print("up", flush=True)
threading.Event().wait()
"""


def test_part_is_gone_when_its_owner_was_killed() -> None:
    """Nothing can be done in a process that gets SIGKILL: the kernel has to do it."""
    with subprocess.Popen(
        [sys.executable, "-c", OWNER],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as owner:
        assert owner.stdout is not None
        part = psutil.Process(int(owner.stdout.readline()))
        owner.kill()

    is_gone = until(
        lambda: not part.is_running() or part.status() == psutil.STATUS_ZOMBIE,
        deadline_s=DEADLINE_S,
    )
    assert is_gone


def test_part_ends_with_the_pipe_where_the_kernel_does_not_help() -> None:
    """A system without prctl must not be left with a dozen orphans."""
    with subprocess.Popen(
        [sys.executable, "-c", BY_PIPE],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as part:
        assert part.stdout is not None
        assert part.stdin is not None
        part.stdout.readline()
        part.stdin.close()

        assert part.wait(DEADLINE_S) == -9


@pytest.mark.parametrize("owner", [str(os.getpid()), "1"], ids=["grandparent", "init"])
def test_part_whose_owner_is_gone_already_does_not_begin(owner: str) -> None:
    """Between fork and the kernel's promise the owner may have ended."""
    starts = [sys.executable, "-m", "ops.run.leash", owner, "this"]
    shell = subprocess.run(
        [
            sys.executable,
            "-c",
            f"import subprocess, sys; sys.exit(subprocess.run({starts!r}).returncode)",
        ],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=DEADLINE_S,
    )

    assert (shell.returncode, shell.stdout) == (3, b"")
