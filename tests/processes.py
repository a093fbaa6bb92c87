"""Our processes as a test sees them: started, listened to, stopped, killed."""

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

import psutil

# Ten times what a start takes on a busy machine.
DEADLINE_S = 60.0


def clean_environ(**ours: str) -> dict[str, str]:
    """The environment without any setting of ours but the given ones."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ONEREPLY_")}
    return kept | ours


class Process:
    """`python -m MODULE ...` and what it says on stderr. `start` starts it; a context ends it."""

    def __init__(self, *command: str, environ: Mapping[str, str]) -> None:
        self.command = command
        self._environ = dict(environ)
        self._unread: queue.Queue[str | None] = queue.Queue()
        self._process: subprocess.Popen[str] | None = None
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
            [sys.executable, "-m", *self.command],
            env=self._environ | environ,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        threading.Thread(
            target=self._listen, args=(self._process, self._unread), daemon=True
        ).start()

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
        assert self._process is not None
        return self._process.pid

    def wait_for(self, event: str, *, deadline_s: float = DEADLINE_S) -> dict[str, Any]:
        """The fields of the first log line with this event that nobody waited for yet."""
        give_up_at_s = time.monotonic() + deadline_s
        while True:
            try:
                line = self._unread.get(timeout=max(0.01, give_up_at_s - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"no `{event}` from {self.command}: {self.lines}") from None
            assert line is not None, f"{self.command} ended before `{event}`: {self.lines}"
            fields: dict[str, Any] = json.loads(line) if line.startswith("{") else {}
            if fields.get("event") == event:
                return fields

    def wait_halted(self, *, deadline_s: float = DEADLINE_S) -> None:
        """Return once it has stopped itself at the step that ONEREPLY_HALT_AT names."""
        self.wait_for("halted at step", deadline_s=deadline_s)
        process = psutil.Process(self.pid)
        give_up_at_s = time.monotonic() + deadline_s
        while process.status() != psutil.STATUS_STOPPED:
            assert time.monotonic() < give_up_at_s, f"{self.command} did not halt"

    def kill(self) -> None:
        """SIGKILL, whatever state it is in."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait(DEADLINE_S)

    def terminate(self) -> int:
        """SIGTERM; its exit code."""
        assert self._process is not None
        self._process.terminate()
        return self._process.wait(DEADLINE_S)

    def ended(self) -> int:
        """Its exit code, once it has ended by itself."""
        assert self._process is not None
        return self._process.wait(DEADLINE_S)
