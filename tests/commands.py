"""`onereply` as a user meets it: a command that ends, and one that stays."""

import json
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from tests.processes import clean_environ

ROOT = Path(__file__).parents[1]
COMMAND = [sys.executable, "-c", "from ops.cli import main; main()"]
# Ten times what a start of everything takes on two idle cores.
DEADLINE_S = 120.0


def onereply(*arguments: object, **environ: str) -> "subprocess.CompletedProcess[str]":
    """What came of the command."""
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        cwd=ROOT,
        env=clean_environ(**environ),
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )


class Staying:
    """`onereply run`, with what it says."""

    def __init__(self, *arguments: object, **environ: str) -> None:
        self.said: list[str] = []
        self._unread: queue.Queue[str | None] = queue.Queue()
        self._process = subprocess.Popen(
            [*COMMAND, "run", *map(str, arguments)],
            cwd=ROOT,
            env=clean_environ(**environ),
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._listen, daemon=True)
        self._reader.start()

    def wait_for(self, pattern: str) -> str:
        """The first line, of those that nobody waited for yet, in which the pattern is found."""
        give_up_at_s = time.monotonic() + DEADLINE_S
        while True:
            try:
                line = self._unread.get(timeout=max(0.01, give_up_at_s - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"never said {pattern!r}: {self.said}") from None
            assert line is not None, f"ended before {pattern!r}: {self.said}"
            if re.search(pattern, line):
                return line

    def family(self) -> dict[str, psutil.Process]:
        """The processes that it has started, by what they run."""
        children = psutil.Process(self._process.pid).children(recursive=True)
        return {" ".join(child.cmdline()): child for child in children}

    def part(self, ending: str) -> psutil.Process:
        """The part whose command line ends so."""
        return next(each for line, each in self.family().items() if line.endswith(ending))

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        os.kill(self._process.pid, number)

    def ended(self) -> int:
        """Its exit code, once it has ended and all that it said was read."""
        code = self._process.wait(DEADLINE_S)
        self._reader.join(DEADLINE_S)
        return code

    def close(self) -> None:
        """End it, if it has not ended."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait(DEADLINE_S)

    def _listen(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self.said.append(line.rstrip())
            self._unread.put(line)
        self._process.stderr.close()
        self._unread.put(None)


@contextmanager
def staying(*arguments: object, **environ: str) -> Iterator[Staying]:
    """`onereply run` for the length of the block; nothing of it is left afterwards."""
    command = Staying(*arguments, **environ)
    try:
        yield command
    finally:
        command.close()


def as_json(told: "subprocess.CompletedProcess[str]") -> dict[str, Any]:
    """What a command with --json has answered."""
    assert told.stdout, told.stderr
    found: dict[str, Any] = json.loads(told.stdout)
    return found
