"""A process of ours that is started again whenever it ends, as a supervisor does.

Owns: the watch on it, and its exit codes.
May not: decide when it ends; a script may, between two looks.
"""

import threading
from typing import Final, Protocol

import psutil

from tests.processes import Process

# A look reads a file of /proc; seven processes are watched at once.
EVERY_S: Final = 0.03


class Script(Protocol):
    """What is done to the process, told from the thread that watches it."""

    def environ(self) -> dict[str, str]:
        """More settings for its next run."""

    def runs(self, process: Process) -> None:
        """It runs."""

    def stopped(self, process: Process) -> None:
        """It is stopped by SIGSTOP, its own or another's."""


class Undisturbed:
    """The script of a process that is left alone."""

    def environ(self) -> dict[str, str]:
        """None."""
        return {}

    def runs(self, process: Process) -> None:
        """Nothing is done."""

    def stopped(self, process: Process) -> None:
        """Nothing is done."""


class Kept:
    """Keeps a started process running. `exit_codes`: of each run that has ended."""

    def __init__(self, process: Process, script: Script | None = None) -> None:
        self._process = process
        self._script = script or Undisturbed()
        self._ending = threading.Event()
        self.exit_codes: list[int] = []
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._ending.wait(EVERY_S):
            # Waiting for it here would take its exit code from the one who started it.
            match psutil.Process(self._process.pid).status():
                case psutil.STATUS_ZOMBIE:
                    self.exit_codes.append(self._process.ended())
                    self._process.start(**self._script.environ())
                case psutil.STATUS_STOPPED:
                    self._script.stopped(self._process)
                case _:
                    self._script.runs(self._process)

    @property
    def is_watched(self) -> bool:
        """Whether the watch still stands; an error in a script ends it."""
        return self._thread.is_alive()

    def leave(self) -> None:
        """Watch no more; the process is as it is."""
        self._ending.set()
        self._thread.join()

    def end(self) -> int:
        """Watch no more, and end the process in good order; its exit code."""
        self.leave()
        return self._process.terminate()
