"""The machine of the runtime: any order of records, crashes, rebalances, faults and time.

Two workers of one stage share a log; in the end all must come to rest with nothing left to do.
"""

from collections.abc import Sequence
from typing import Final

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from processors.runtime.steps import Step
from tests.model_clients import Fault
from tests.model_log import SESSION_TIMEOUT_MS
from tests.model_stage import KINDS
from tests.model_workers import MOST_ROUNDS, NAMES, Workers, member
from tests.model_world import CHANGELOG, INPUT, PARTITIONS

KEYS: Final = ("k0", "k1")
# More than a leap that a worker believes at once.
LEAP_MS: Final = 20 * 60_000
DAY_MS: Final = 24 * 3_600_000

SCHEDULES: Final = settings(
    max_examples=40,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)

Pairs = Sequence[tuple[str, str]]

names = st.sampled_from(NAMES)
numbers = st.integers(0, PARTITIONS - 1)
steps = st.sampled_from(list(Step))
records = st.tuples(st.sampled_from(KEYS), st.sampled_from(KINDS))
some = st.lists(records, max_size=6)
disks = st.sampled_from(("kept", "kept", "lost", "older"))


class Rules(Workers):
    """What may happen, in any order."""

    @rule(pairs=some, gap=st.booleans())
    def produce(self, pairs: Pairs, *, gap: bool) -> None:
        """Records come in, to each partition in turn; something else may take an offset."""
        log = self.world.log
        for nth, (key, kind) in enumerate(pairs):
            log.append((INPUT, nth % PARTITIONS), key.encode(), kind.encode() or None)
        if gap:
            log.skip_offset((INPUT, 0))

    @rule(name=names, rounds=st.integers(1, MOST_ROUNDS), early=st.booleans())
    def work(self, name: str, rounds: int, *, early: bool) -> None:
        """Rounds of a worker, which may stand at a step and goes on from there."""
        self.world.log.group.hears_early = early
        self.go(name, rounds)

    @rule(name=names, step=steps, pairs=some)
    def fall_asleep(self, name: str, step: Step, pairs: Pairs) -> None:
        """It is stopped at a step, maybe with something in hand, until it works again."""
        self.produce(pairs, gap=False)
        self.go(name, MOST_ROUNDS, step)

    @rule(name=names, step=steps, pairs=some, disk=disks)
    def crash(self, name: str, step: Step, pairs: Pairs, *, disk: str) -> None:
        """It dies at a step, maybe with something in hand, and is started again."""
        self.fall_asleep(name, step, pairs)
        self.kill(name)
        self.start(name, disk=disk)
        self.go_on()

    @rule(name=names, disk=disks)
    def come_back(self, name: str, *, disk: str) -> None:
        """It ends in order, if it is there, and its disk is copied; then it is started."""
        if (process := self.alive.pop(name, None)) is not None:
            process.stop()
            self.bury(process)
            self.copy_disk(process, name)
        self.start(name, disk=disk)
        self.go_on()

    @precondition(lambda self: self.asleep())
    @rule(pick=st.integers(0, 1))
    def replace(self, pick: int) -> None:
        """One that sleeps is started on another host."""
        name = self.asleep()[pick % len(self.asleep())]
        self.zombies.append(self.alive.pop(name))
        self.homes[name] += "'"
        self.start(name, disk="lost")
        self.go(name, 1)

    @precondition(lambda self: self.zombies)
    @rule()
    def wake(self) -> None:
        """One that was replaced wakes up."""
        self.wake_to_die(self.zombies.pop())

    @rule(number=numbers, name=names)
    def move(self, number: int, name: str) -> None:
        """The group gives a partition to somebody else; who sleeps is expelled for it."""
        group = self.world.log.group
        for each in self.asleep():
            group.expel(member(each))
        group.move(number, member(name))
        self.go_on()

    @rule(name=names, fault=st.sampled_from(list(Fault)))
    def lay_out(self, name: str, fault: Fault) -> None:
        """Something will go wrong with a transaction of its."""
        self.world.faults.laid[member(name)].append(fault)

    @rule(name=names, pick=st.integers(0, 7))
    def answer(self, name: str, pick: int) -> None:
        """A call comes to an end, maybe long after its lease."""
        process = self.alive.get(name)
        if process is not None and (calls := self.world.outsides[process].calls):
            self.world.outsides[process].answer(calls[pick % len(calls)])

    @rule(elapsed_ms=st.sampled_from((50, 11_000, 21_000)))
    def wait(self, elapsed_ms: int) -> None:
        """Time goes by; the sessions of those that are silent end."""
        self.world.advance(elapsed_ms)
        for name in NAMES if elapsed_ms > SESSION_TIMEOUT_MS else ():
            if name not in self.alive or name in self.asleep():
                self.world.log.group.expel(member(name))
        self.go_on()

    @rule(what=st.sampled_from(("leap", "leap back", "late", "in time", "compact", "day", *NAMES)))
    def meddle(self, what: str) -> None:
        """The broker's clock is wrong, its markers late, a session is cut; a day goes by."""
        log = self.world.log
        if what in NAMES:
            log.group.expel(member(what))
        elif what == "day":
            self.wait(DAY_MS)
        elif what == "compact":
            for number in range(PARTITIONS):
                log.compact((CHANGELOG, number))
        elif "leap" in what:
            log.leap_ms = LEAP_MS if what == "leap" else 0
        else:
            log.are_markers_late = what == "late"
            log.settle_all()
        self.go_on()

    @rule(number=numbers, back=st.integers(1, 6), is_named=st.booleans())
    def rewind(self, number: int, back: int, *, is_named: bool) -> None:
        """With the stage stopped, somebody sets a partition's offset back."""
        log, there = self.world.log, list(self.alive)
        for name in NAMES:
            self.kill(name)
            log.group.expel(member(name))
        log.settle_all()
        if number in log.group.offsets and not log.is_pending(number):
            self.world.set_back(number, back, is_named=is_named)
        for name in there:
            self.start(name, disk="kept")
        for _ in range(MOST_ROUNDS):
            self.go_on()
