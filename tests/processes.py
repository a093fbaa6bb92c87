"""Our processes as a test sees them: started, listened to, stopped, killed.

Owns: the one way in which tests start a process, read what it says and end it.
May not: know what the process is for; its pipe, threads and deadlines are all that it handles.
"""

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

import psutil

# Ten times what a start takes on a busy machine.
DEADLINE_S = 60.0

FoundT = TypeVar("FoundT")


def clean_environ(**ours: str) -> dict[str, str]:
    """The environment without any setting of ours but the given ones."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ONEREPLY_")}
    return kept | ours


class Heard:
    """Python with these arguments, and every line that it says on stderr.

    `start` starts it; a context ends it. `lines` is complete once it has ended.
    """

    def __init__(self, *arguments: str, environ: Mapping[str, str]) -> None:
        self.arguments = arguments
        self._environ = dict(environ)
        self._unread: queue.Queue[str | None] = queue.Queue()
        self._process: subprocess.Popen[str] | None = None
        self._listener: threading.Thread | None = None
        self.lines: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()

    def start(self, **environ: str) -> None:
        """Start it (again), with more settings for this run alone."""
        self._unread = queue.Queue()
        self._process = subprocess.Popen(
            [sys.executable, *self.arguments],
            env=self._environ | environ,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._listener = threading.Thread(
            target=self._listen, args=(self._process, self._unread), daemon=True
        )
        self._listener.start()

    def _listen(self, process: "subprocess.Popen[str]", unread: "queue.Queue[str | None]") -> None:
        assert process.stderr is not None
        for line in process.stderr:
            self.lines.append(line.rstrip())
            unread.put(line)
        process.stderr.close()
        unread.put(None)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._started().pid

    def _started(self) -> "subprocess.Popen[str]":
        assert self._process is not None
        return self._process

    def hear(
        self, found: Callable[[str], FoundT | None], what: str, *, deadline_s: float
    ) -> FoundT:
        """What is found in the first line that has it, of those that nobody waited for yet."""
        give_up_at_s = time.monotonic() + deadline_s
        while True:
            try:
                line = self._unread.get(timeout=max(0.01, give_up_at_s - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"no {what} from {self.arguments}: {self.lines}") from None
            assert line is not None, f"{self.arguments} ended before {what}: {self.lines}"
            if (it := found(line)) is not None:
                return it

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self._started().send_signal(number)

    def kill(self) -> None:
        """SIGKILL, whatever state it is in."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait(DEADLINE_S)

    def terminate(self) -> int:
        """SIGTERM; its exit code."""
        self._started().terminate()
        return self.ended()

    def ended(self) -> int:
        """Its exit code, once it has ended and all that it said was read."""
        code = self._started().wait(DEADLINE_S)
        assert self._listener is not None
        self._listener.join(DEADLINE_S)
        return code


class Process(Heard):
    """`python -m MODULE ...`, one of ours that logs JSON lines."""

    def __init__(self, *command: str, environ: Mapping[str, str]) -> None:
        super().__init__("-m", *command, environ=environ)

    def wait_for(self, event: str, *, deadline_s: float = DEADLINE_S) -> dict[str, Any]:
        """The fields of the first log line with this event that nobody waited for yet."""

        def found(line: str) -> dict[str, Any] | None:
            fields: dict[str, Any] = json.loads(line) if line.startswith("{") else {}
            return fields if fields.get("event") == event else None

        return self.hear(found, f"`{event}`", deadline_s=deadline_s)

    def wait_halted(self, *, deadline_s: float = DEADLINE_S) -> None:
        """Return once it has stopped itself at the step that ONEREPLY_HALT_AT names."""
        self.wait_for("halted at step", deadline_s=deadline_s)
        process = psutil.Process(self.pid)
        give_up_at_s = time.monotonic() + deadline_s
        while process.status() != psutil.STATUS_STOPPED:
            assert time.monotonic() < give_up_at_s, f"{self.arguments} did not halt"
