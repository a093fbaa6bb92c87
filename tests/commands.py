"""`onereply` as a user meets it: a command that ends, and one that stays."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psutil

from tests.architecture import ROOT
from tests.processes import Heard, clean_environ

PROGRAM = ("-c", "from ops.cli import main; main()")
# Ten times what a start of everything takes on two idle cores.
DEADLINE_S = 120.0


def onereply(*arguments: object, **environ: str) -> "subprocess.CompletedProcess[str]":
    """What came of the command."""
    return subprocess.run(
        [sys.executable, *PROGRAM, *map(str, arguments)],
        cwd=ROOT,
        env=clean_environ(**environ),
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )


class Staying(Heard):
    """`onereply run`, with what it says."""

    def __init__(self, *arguments: object, **environ: str) -> None:
        super().__init__(*PROGRAM, "run", *map(str, arguments), environ=clean_environ(**environ))

    def wait_for(self, pattern: str) -> str:
        """The first line, of those that nobody waited for yet, in which the pattern is found."""

        def found(line: str) -> str | None:
            return line if re.search(pattern, line) else None

        return self.hear(found, repr(pattern), deadline_s=DEADLINE_S)

    def family(self) -> dict[str, psutil.Process]:
        """The processes that it has started, by what they run."""
        children = psutil.Process(self.pid).children(recursive=True)
        return {" ".join(child.cmdline()): child for child in children}

    def part(self, ending: str) -> psutil.Process:
        """The part whose command line ends so."""
        return next(each for line, each in self.family().items() if line.endswith(ending))


@contextmanager
def staying(*arguments: object, **environ: str) -> Iterator[Staying]:
    """`onereply run` for the length of the block; nothing of it is left afterwards."""
    with Staying(*arguments, **environ) as command:
        command.start()
        yield command


def as_json(told: "subprocess.CompletedProcess[str]") -> dict[str, Any]:
    """What a command with --json has answered."""
    assert told.stdout, told.stderr
    found: dict[str, Any] = json.loads(told.stdout)
    return found
