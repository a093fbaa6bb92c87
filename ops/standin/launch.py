"""Start a stand-in as a process of its own, and be sure that it ends.

Owns: the command line, the wait for its address, and its end.
May not: leave a process behind.
"""

import selectors
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

import msgspec

from ops.standin.mailbox import Limits

ROOT: Final = Path(__file__).resolve().parents[2]
# Measured 0.5 s alone; a loaded machine with two cores may take ten times as long.
START_PATIENCE_SECONDS: Final = 20.0
STOP_PATIENCE_SECONDS: Final = 10.0


class NotListening(Exception):
    """The process did not say in time where it listens."""


class Running:
    """A stand-in that listens at `url`."""

    def __init__(self, process: "subprocess.Popen[bytes]", *, url: str) -> None:
        self.process: Final = process
        self.url: Final = url

    @property
    def port(self) -> int:
        """The port, for a next one that takes its place."""
        return int(self.url.rpartition(":")[2])

    def kill(self) -> int:
        """End it as a crash would (SIGKILL). Its exit code."""
        self.process.kill()
        return self.process.wait(STOP_PATIENCE_SECONDS)

    def stop(self) -> int:
        """End it politely (SIGTERM), or by force when it does not listen. Its exit code."""
        self.process.terminate()
        try:
            return self.process.wait(STOP_PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            return self.kill()


@contextmanager
def running(
    *,
    port: int = 0,
    state: Path | None = None,
    inboxes: tuple[str, ...] = (),
    max_messages: int = Limits().messages,
) -> Iterator[Running]:
    """A stand-in that listens, for as long as the block lasts."""
    options = ["--port", str(port), "--max-messages", str(max_messages)]
    options += [] if state is None else ["--state", str(state)]
    for inbox_id in inboxes:
        options += ["--inbox", inbox_id]
    command = [sys.executable, "-m", "ops.standin", *options]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as process:
        standin = Running(process, url="")
        try:
            yield Running(process, url=_address(process.stdout))
        finally:
            standin.stop()


def _address(stdout: IO[bytes] | None) -> str:
    if stdout is None:
        raise NotListening("its output is not read")
    with selectors.DefaultSelector() as selector:
        selector.register(stdout, selectors.EVENT_READ)
        if not selector.select(START_PATIENCE_SECONDS):
            raise NotListening(f"no address within {START_PATIENCE_SECONDS:.0f} s")
    line = stdout.readline()
    if not line:
        raise NotListening("it ended at once: its last words are above")
    said: dict[str, str] = msgspec.json.decode(line)
    return said["listening"]
