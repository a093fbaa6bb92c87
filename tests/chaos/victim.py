"""One process and the strikes that are meant for it, one after the other.

Owns: where each strike lands, and the list of those that have landed.
May not: start the process; the watch does, with the halt that the next strike needs.
"""

import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from processors.runtime.steps import Step
from tests.chaos.plan import Moment, Strike
from tests.pipeline import Pipeline
from tests.processes import Process

# Longer than a session and a transaction may last.
PAUSE_S: Final = 8.0
STEPS: Final = frozenset(str(step) for step in Step)
# What the provider does to the call during which a stage dies. The sender's is accepted before.
HELD: Final[dict[str, dict[str, Any]]] = {
    "send": {"kind": "accept_then_hold", "seconds": 1.5},
    "fetch": {"kind": "delay", "operation": "message", "seconds": 1.5},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Struck:
    """A strike that has landed."""

    at_s: float
    process: str
    strike: Strike


class Victim:
    """The script of a process that is struck. `landed` grows; `is_left` tells of more."""

    def __init__(
        self, name: str, strikes: Sequence[Strike], *, whole: Pipeline, now_s: Callable[[], float]
    ) -> None:
        self._name = name
        self._left = deque(strikes)
        self._whole = whole
        self._now_s = now_s
        self._port = whole.door.rpartition(":")[2].partition("/")[0]
        self._is_armed = False
        self._is_ending = False
        self._is_call_awaited = False
        self._strike_at_s = 0.0
        self.landed: list[Struck] = []

    @property
    def is_left(self) -> bool:
        """Whether a strike is still to come."""
        return bool(self._left)

    def environ(self) -> dict[str, str]:
        """The port that a door keeps, and the halt at which the next strike lands."""
        self._is_ending = False
        port = {"ONEREPLY_LISTEN_PORT": self._port} if self._name == "door" else {}
        return port | self._armed()

    def _armed(self) -> dict[str, str]:
        self._is_armed = self.is_left
        if not self._left:
            return {}
        strike = self._left[0]
        self._strike_at_s = time.monotonic() + strike.after_s
        return {"ONEREPLY_HALT_AT": f"{strike.at}:{strike.nth}"} if strike.at in STEPS else {}

    def stopped(self, process: Process) -> None:
        """Strike: it has stopped itself at the step."""
        if self._is_armed and not self._is_ending:
            self._land(process)

    def runs(self, process: Process) -> None:
        """Strike when the moment has come; end it in good order when its next halt needs that."""
        if self._is_ending or not self._left:
            return
        strike = self._left[0]
        if not self._is_armed:
            if strike.at in STEPS:
                self._is_ending = True
                process.signal(signal.SIGTERM)
            else:
                self._armed()
        elif strike.at not in STEPS and time.monotonic() >= self._strike_at_s:
            self._at_its_moment(process, strike)

    def _at_its_moment(self, process: Process, strike: Strike) -> None:
        if strike.at == Moment.CALLING and not self._is_call_awaited:
            self._whole.ask("faults", {"faults": [HELD[self._name]]})
            self._is_call_awaited = True
        elif strike.at == Moment.CALLING and self._is_still_to_call():
            return
        else:
            self._is_call_awaited = False
            if strike.is_pause:
                process.signal(signal.SIGSTOP)
            self._land(process)

    def _is_still_to_call(self) -> bool:
        answer = self._whole.client.get(f"{self._whole.standin}/_standin/faults").json()
        kinds = {fault["kind"] for fault in answer["faults"]}
        return HELD[self._name]["kind"] in kinds

    def _land(self, process: Process) -> None:
        strike = self._left.popleft()
        self._is_armed = False
        self.landed.append(Struck(at_s=self._now_s(), process=self._name, strike=strike))
        if strike.is_pause:
            # The silence is the strike itself.
            threading.Event().wait(PAUSE_S)
            process.signal(signal.SIGCONT)
        else:
            self._is_ending = True
            process.signal(signal.SIGKILL)
