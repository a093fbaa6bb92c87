"""The numbered steps of one batch, and a way to stop the process at one of them.

R1 polled, R3 decided (R2, the rows read, lies between them and touches nothing), R4a records
produced, R4b offsets sent, R4c committed, R5 store written, R6 effects started. A fault test halts
a process at a step and kills it there, or puts its wall clock off.

Owns: the list of steps, and what fault tests may ask of a process.
May not: do anything unless it was asked for.
"""

import logging
import os
import signal
from enum import StrEnum
from typing import Protocol

from schemas.errors import SettingsError

LOG = logging.getLogger("processors.steps")


class Step(StrEnum):
    """The steps in the order in which they happen."""

    POLLED = "R1"
    DECIDED = "R3"
    PRODUCED = "R4a"
    OFFSETS_SENT = "R4b"
    COMMITTED = "R4c"
    STORED = "R5"
    STARTED = "R6"


class Steps(Protocol):
    """Told of each step as it is reached."""

    def reached(self, step: Step) -> None:
        """A step is done."""


class NoHalt:
    """What production uses: nothing happens."""

    def reached(self, step: Step) -> None:
        """Nothing."""


class HaltAt:
    """Stops this very process (SIGSTOP) when a step is reached for the n-th time.

    Steps after a poll count only where something was decided: the transaction by which a process
    learns the time is no batch.
    """

    def __init__(self, step: Step, nth: int) -> None:
        self._step = step
        self._left = nth
        self._is_batch = False

    def reached(self, step: Step) -> None:
        """Count, and stop at the n-th."""
        if step in (Step.POLLED, Step.DECIDED):
            self._is_batch = step is Step.DECIDED
        if step is not self._step or not (self._is_batch or step is Step.POLLED):
            return
        self._left -= 1
        if self._left == 0:
            LOG.warning("halted at step", extra={"step": str(step)})
            os.kill(os.getpid(), signal.SIGSTOP)


def steps_from(asked: str | None) -> Steps:
    """The steps that `STEP:N` asks for (for fault tests), or none. Raises SettingsError."""
    if not asked:
        return NoHalt()
    name, _, count = asked.partition(":")
    try:
        return HaltAt(Step(name), int(count or "1"))
    except ValueError as error:
        raise SettingsError([f"ONEREPLY_HALT_AT: {error}; expected STEP:N, e.g. R4c:3"]) from error


def wall_shift_ms() -> int:
    """By how much the wall clock of this process is put off, for fault tests only.

    Nothing but the age of stores may change with it. Raises SettingsError.
    """
    asked = os.environ.get("ONEREPLY_WALL_SHIFT_MS") or "0"
    try:
        return int(asked)
    except ValueError as error:
        raise SettingsError([f"ONEREPLY_WALL_SHIFT_MS: {error}"]) from error
