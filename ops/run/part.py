"""One process of ours: started, listened to, ended; and started again under the same name.

Owns: the process, the thread that reads what it says, and its log file.
May not: decide that it is started again.

Start parts from the main thread: on Linux a part ends with the thread that started it.
"""

import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from ops.run.logfile import LogFile
from ops.run.words import fields_of, ready_url, reason_of

NO_REASON: Final = "it gave no reason"
# A process that was sent SIGKILL is gone when the kernel has freed its memory.
KILL_DEADLINE_S: Final = 10.0


class Ready(NamedTuple):
    """A part says that it works. `start` counts its starts; `url` is empty if it has no address."""

    name: str
    start: int
    url: str


class Ended(NamedTuple):
    """A part's process is gone, with this code (negative: by this signal)."""

    name: str
    start: int
    code: int
    reason: str


Happening = Ready | Ended
Happenings = queue.SimpleQueue[Happening]


class Part:
    """`python -m COMMAND`, held on a leash: it ends with this process, however that goes."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        environ: Mapping[str, str],
        log: LogFile,
        tell: Happenings,
    ) -> None:
        self.name, self.command, self.log = name, tuple(command), log
        self.starts = 0
        self._environ, self._tell = dict(environ), tell
        self._process: subprocess.Popen[bytes] | None = None
        self._listener: threading.Thread | None = None

    @property
    def pid(self) -> int:
        """The process id of the latest start; 0 before the first."""
        return 0 if self._process is None else self._process.pid

    @property
    def is_running(self) -> bool:
        """Its process is there."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start it. In a session of its own, so that Ctrl-C reaches it through its owner only."""
        self.starts += 1
        self._process = subprocess.Popen(
            [sys.executable, "-m", "ops.run.leash", str(os.getpid()), *self.command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env=self._environ | {"PYTHONUNBUFFERED": "1"},
        )
        self._listener = threading.Thread(
            target=self._listen, args=(self._process, self.starts), daemon=True
        )
        self._listener.start()

    def terminate(self) -> None:
        """Ask it to end well."""
        if self._process is not None and self.is_running:
            self._process.terminate()

    def kill(self) -> None:
        """End it at once, as a crash would, and return when it is gone."""
        if self._process is not None and self.is_running:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait(KILL_DEADLINE_S)

    def has_ended(self, deadline_s: float) -> bool:
        """Whether it is gone by the deadline; then its last words are in its log."""
        if self._process is None or self._listener is None:
            return True
        try:
            self._process.wait(deadline_s)
        except subprocess.TimeoutExpired:
            return False
        self._listener.join(KILL_DEADLINE_S)
        return True

    def _listen(self, process: "subprocess.Popen[bytes]", start: int) -> None:
        reason = NO_REASON
        assert process.stdout is not None  # noqa: S101  # it was asked for
        with process.stdout as lines:
            for line in lines:
                self.log.write(line)
                fields = fields_of(line)
                reason = reason_of(line, fields) or reason
                if (url := ready_url(fields)) is not None:
                    self._tell.put(Ready(self.name, start, url))
        code = process.wait()
        self.log.close()
        if process.stdin is not None:
            process.stdin.close()
        self._tell.put(Ended(self.name, start, code, reason))
