"""The workers of the machine of the runtime: how they live and die, and how all comes to rest.

After each step what is committed is judged, and so is the disk of every process that is no more.
"""

import shutil
import sys
from typing import Final

from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant

from processors.runtime.failures import Fenced
from processors.runtime.steps import Step
from schemas.errors import Transient
from tests.model_process import Killed, ModelProcess
from tests.model_world import Parts, World

FIRST, SECOND = NAMES = ("a", "b")
MOST_ROUNDS: Final = 4
MOST_RESTS: Final = 120
ENDS: Final = (Killed, Transient, Fenced)


def member(name: str) -> str:
    """The name that the worker goes by in its group and its transactions."""
    return f"dedupe-{name}"


class Workers(RuleBasedStateMachine):
    """The processes: started, stopped, killed, put to sleep, and what must hold of each."""

    parts: type[Parts] = Parts

    def __init__(self) -> None:
        super().__init__()
        self.world = World(self.parts)
        self.alive: dict[str, ModelProcess] = {}
        self.zombies: list[ModelProcess] = []
        self.homes = dict.fromkeys(NAMES, "home")

    @initialize()
    def begin(self) -> None:
        """One worker is there."""
        self.start(FIRST, disk="kept")

    def start(self, name: str, *, disk: str) -> None:
        """A worker of that name, on the disk as it was, an empty one, or an older copy."""
        world = self.world
        state = world.folder / self.homes[name] / "state" / "dedupe" / name
        copy = world.folder / "copies" / name
        if disk == "lost" or (disk == "older" and copy.exists()):
            shutil.rmtree(state, ignore_errors=True)
        if disk == "older" and copy.exists():
            shutil.copytree(copy, state)
        process = world.start(name, self.homes[name])
        if process.has_ended:
            self.bury(process)
        else:
            self.alive[name] = process

    def go(self, name: str, rounds: int, halt_at: Step | None = None) -> bool:
        """Let it work; whether it has come to the step."""
        process = self.alive.get(name)
        for _ in range(rounds):
            if process is None:
                return False
            process.go(halt_at)
            if process.has_ended:
                del self.alive[name]
                self.bury(process)
                return False
            if process.where is not None:
                return True
        return False

    def kill(self, name: str) -> None:
        """It dies where it stands, and its disk is as it was at that moment."""
        if (process := self.alive.pop(name, None)) is not None:
            state, then = self.world.homes[process], self.world.folder / "then"
            if state.exists():
                shutil.copytree(state, then)
            process.kill()
            shutil.rmtree(state, ignore_errors=True)
            if then.exists():
                then.rename(state)
            self.bury(process)

    def bury(self, process: ModelProcess) -> None:
        """A process may end for what others did to it, and leaves only what was committed."""
        if process.error is not None and not isinstance(process.error, ENDS):
            raise process.error
        self.world.check_stores(process)

    def rest(self) -> None:
        """All comes to an end, once nothing more goes wrong."""
        world = self.world
        world.faults.laid.clear()
        world.log.are_markers_late, world.log.leap_ms = False, 0
        world.log.settle_all()
        for zombie in self.zombies:
            self.wake_to_die(zombie)
        for _ in range(MOST_RESTS):
            for name in NAMES:
                if name not in self.alive:
                    world.log.group.expel(member(name))
            if not self.alive:
                self.start(FIRST, disk="kept")
            self.turn_all()
            if not self.left_over():
                break
            world.advance(11_000)
        assert self.left_over() == []
        for name in list(self.alive):
            process = self.alive.pop(name)
            process.stop()
            self.bury(process)

    def asleep(self) -> list[str]:
        """Those that stand at a step."""
        return [name for name, each in self.alive.items() if each.where is not None]

    def go_on(self) -> None:
        """Those that are awake do a round."""
        for name in [each for each in self.alive if each not in self.asleep()]:
            self.go(name, 1)

    def copy_disk(self, process: ModelProcess, name: str) -> None:
        """Keep its disk as it is, to be found again one day."""
        copy, state = self.world.folder / "copies" / name, self.world.homes[process]
        shutil.rmtree(copy, ignore_errors=True)
        if state.exists():
            shutil.copytree(state, copy)

    def wake_to_die(self, zombie: ModelProcess) -> None:
        """Its name is another's by now: it comes to know with its next commit or poll, or dies."""
        for _ in range(MOST_ROUNDS):
            zombie.go()
        if not zombie.has_ended:
            zombie.kill()
        self.bury(zombie)

    def turn_all(self) -> None:
        """A round for each, and every answer."""
        for name, process in list(self.alive.items()):
            self.go(name, 1)
            self.answer_all(process)
        self.world.judge()

    def answer_all(self, process: ModelProcess) -> None:
        """Each call is answered, if its process is still there to hear it."""
        outside = self.world.outsides[process]
        for call in [] if process.has_ended else list(outside.calls):
            outside.answer(call)

    def left_over(self) -> list[str]:
        """What is still to be done."""
        return [each for judge in self.world.judges for each in judge.open_ends()]

    @invariant()
    def committed_is_what_it_should_be(self) -> None:
        """Nothing is told twice, left out, out of order, or without its offset."""
        self.world.judge()

    def teardown(self) -> None:
        """Bring it to rest, unless it has failed already."""
        try:
            if sys.exc_info()[0] is None:
                self.rest()
        finally:
            self.world.close()
