"""Programs under measurement: run in this process group, watched for memory.

Owns: their end, whatever happens.
"""

import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import psutil

from ops.kafka.process import until
from tests.bench.figures import MIB

DEADLINE_S: Final = 900.0


class Failed(Exception):
    """A program that ended with an error, or not in time. Holds its last words."""


class PeerAbsent(Exception):
    """A peer that cannot be had on this machine, and why."""


class Program:
    """One program. `peak_bytes` is the most memory that it was seen with."""

    def __init__(self, command: Sequence[str], *, log: Path, environ: Mapping[str, str]) -> None:
        self._log = log
        with log.open("wb") as out:
            self._process = subprocess.Popen(
                command, stdout=out, stderr=subprocess.STDOUT, env=dict(environ), cwd=Path.cwd()
            )
        self._watched = psutil.Process(self._process.pid)
        self.peak_bytes = 0

    @property
    def peak_mib(self) -> float:
        """The same in MiB."""
        return self.peak_bytes / MIB

    def resident_mib(self) -> float:
        """What it holds now."""
        resident: int = self._watched.memory_info().rss
        return resident / MIB

    def has_said(self, event: str) -> bool:
        """Whether its log has a line with this event."""
        return f'"{event}"' in self._log.read_text(encoding="utf-8", errors="replace")

    def wait(self) -> None:
        """Return when it has ended well. Raises Failed."""
        if not until(self._has_ended, deadline_s=DEADLINE_S):
            self.kill()
            raise Failed(f"not done after {DEADLINE_S:.0f} s: {self._last_words()}")
        if code := self._process.returncode:
            raise Failed(f"exit code {code}: {self._last_words()}")

    def wait_until(self, holds: Callable[[], bool]) -> None:
        """Return when it has done what it should. Raises Failed, also when it ends."""
        if not until(lambda: self._has_ended() or holds(), deadline_s=DEADLINE_S):
            raise Failed(f"not done after {DEADLINE_S:.0f} s: {self._last_words()}")
        if self._process.poll() is not None:
            raise Failed(f"exit code {self._process.returncode}: {self._last_words()}")

    def stop(self) -> None:
        """SIGTERM, and wait."""
        self._process.terminate()
        self._process.wait(DEADLINE_S)

    def kill(self) -> None:
        """SIGKILL, if it still runs."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def _has_ended(self) -> bool:
        if self._process.poll() is not None:
            return True
        try:
            self.peak_bytes = max(self.peak_bytes, self._watched.memory_info().rss)
        except psutil.NoSuchProcess:
            return False
        return False

    def _last_words(self) -> str:
        lines = self._log.read_text(encoding="utf-8", errors="replace").splitlines()
        return " / ".join(lines[-3:])
