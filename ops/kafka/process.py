"""One broker process, known by its pid and by a mark on its command line.

Owns: starting it apart from the terminal, knowing it again, ending it.
May not: import anything but the standard library; the watchdog starts with it in 50 ms.
"""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

MARK: Final = "-Donereply.node="
POLL_S: Final = 0.02
# A process that was sent SIGKILL is gone when the kernel has freed its memory.
KILL_DEADLINE_S: Final = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerProcess:
    """A process that is ours only while its command line holds its mark: pids are used again."""

    pid: int
    mark: str

    def is_alive(self) -> bool:
        """It runs, and it is ours. A process that ended and was not collected does not run."""
        return self.mark in command_line(self.pid)

    def terminate(self) -> None:
        """Ask it to end well."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once, and return when it is gone."""
        self._signal(signal.SIGKILL)
        self.wait(KILL_DEADLINE_S)

    def wait(self, deadline_s: float) -> bool:
        """Return whether it is gone by the deadline."""
        return until(lambda: not self.is_alive(), deadline_s=deadline_s)

    def _signal(self, number: signal.Signals) -> None:
        if self.is_alive():
            try:
                os.kill(self.pid, number)
            except ProcessLookupError:
                return


def mark_of(folder: Path) -> str:
    """What stands on the command line of the node in this folder, and of no other process."""
    return f"{MARK}{folder}/"


def command_line(pid: int) -> str:
    """The command line of a process; empty when there is no such process."""
    if Path("/proc/self/cmdline").exists():
        try:
            raw = Path(f"/proc/{pid}/cmdline").read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            return ""
        return raw.replace(b"\0", b"\n").decode(errors="replace")
    asked = ["ps", "-ww", "-o", "command=", "-p", str(pid)]
    told = subprocess.run(asked, capture_output=True, check=False)
    return told.stdout.decode(errors="replace")


def until(holds: Callable[[], bool], *, deadline_s: float) -> bool:
    """Return whether the condition holds by the deadline."""
    end = time.monotonic() + deadline_s
    while not holds():
        if time.monotonic() >= end:
            return False
        time.sleep(POLL_S)
    return True


def spawn(command: Sequence[str], *, folder: Path) -> subprocess.Popen[bytes]:
    """Start it in a session of its own, so that Ctrl-C reaches it through its owner only.

    What it prints (the JVM's own complaints) goes to console.log in the folder. The locale is set
    because a JVM under LC_ALL=C cannot open a path with an accent.
    """
    with (folder / "console.log").open("ab") as console:
        return subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=console,
            start_new_session=True,
            env=os.environ | {"LC_ALL": "C.UTF-8"},
        )


def write_pid(folder: Path, pid: int) -> None:
    """Leave the pid for other terminals. A full disk leaves the file as it was, never empty."""
    new = folder / "pid.new"
    new.write_text(f"{pid}\n", encoding="ascii")
    new.replace(folder / "pid")


def find_process(folder: Path) -> BrokerProcess | None:
    """The live process of the node in this folder, or None. A stale pid file finds nothing."""
    try:
        pid = int((folder / "pid").read_text(encoding="ascii"))
    except (FileNotFoundError, ValueError):
        return None
    found = BrokerProcess(pid=pid, mark=mark_of(folder))
    return found if found.is_alive() else None
