"""Ends a broker whose owner is gone, however the owner went.

Owns: the wait for the owner's end of a pipe to close.
May not: do anything while the owner lives.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from ops.kafka.process import BrokerProcess

# Enough to close the log cleanly; nobody waits for the rest.
GRACE_S: Final = 5.0
ROOT: Final = Path(__file__).parents[2]


def watch(process: BrokerProcess) -> subprocess.Popen[bytes]:
    """Start a watchdog beside the process. It bites when this process ends or closes its stdin."""
    return subprocess.Popen(
        [sys.executable, "-S", "-m", "ops.kafka.watchdog", str(process.pid), process.mark],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )


def dismiss(watchdog: subprocess.Popen[bytes]) -> None:
    """End the watchdog of a process that is gone."""
    watchdog.kill()
    watchdog.communicate()


def main() -> None:
    """Wait for the owner to go, then end the process: in good order, or after the grace not."""
    process = BrokerProcess(pid=int(sys.argv[1]), mark=sys.argv[2])
    sys.stdin.buffer.read()
    process.terminate()
    if not process.wait(GRACE_S):
        process.kill()


if __name__ == "__main__":
    main()
