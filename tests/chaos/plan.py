"""What a chaos run does to whom, drawn from its seed: pure, and the same every time.

Owns: the strikes, and that every step of every process has its turn.
May not: strike.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from processors.runtime.steps import Step
from tests.pipeline import STAGES

# The stages whose loop is the runtime's; the writer is a Faust agent and keeps nothing.
LOOPS: Final = tuple(name for name in STAGES if name != "write")
PROCESSES: Final = ("door", *STAGES)
# The stages that call the provider.
CALLERS: Final = ("fetch", "send")
# How often a step passes before it is struck there. An idle loop polls ten times a second.
MOST_POLLS, MOST_BATCHES = 40, 8
KILLS_A_PAUSE, KILLS_A_BROKER_KILL = 10, 25


class Moment(StrEnum):
    """When a process is struck that is not at a step of the loop."""

    CALLING = "call"
    ANY = "any"


@dataclass(frozen=True, slots=True, kw_only=True)
class Strike:
    """One blow. `at` is a step's name, reached `nth` times, or a moment `after_s` a start."""

    at: str
    nth: int
    after_s: float
    is_pause: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerKill:
    """The broker dies once that many kills were made, and is away for a while."""

    after_kills: int
    away_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """All of a run. `strikes` by process, each in its order; all processes go on at once."""

    seed: int
    kills: int
    strikes: Mapping[str, tuple[Strike, ...]]
    broker_kills: tuple[BrokerKill, ...]


def plan(seed: int, kills: int) -> Plan:
    """The plan of this seed: kills spread evenly over the places, in an order by chance."""
    rnd = random.Random(seed)
    strikes: dict[str, list[Strike]] = {name: [] for name in PROCESSES}
    for name, at in _drawn(kills, rnd):
        strikes[name].append(_strike(at, rnd))
    for name, at in _drawn(kills // KILLS_A_PAUSE, rnd):
        order = strikes[name]
        order.insert(rnd.randint(0, len(order)), _strike(at, rnd, is_pause=True))
    return Plan(
        seed=seed,
        kills=kills,
        strikes={name: tuple(order) for name, order in strikes.items()},
        broker_kills=_broker_kills(kills, rnd),
    )


def places() -> list[tuple[str, str]]:
    """Every process and where it can be struck. The two without a loop come as often as a loop."""
    steps = [(name, str(step)) for name in LOOPS for step in Step]
    calls = [(name, str(Moment.CALLING)) for name in CALLERS]
    others = [(name, str(Moment.ANY)) for name in PROCESSES if name not in LOOPS]
    return steps + calls + others * 4


def _drawn(count: int, rnd: random.Random) -> list[tuple[str, str]]:
    drawn: list[tuple[str, str]] = []
    while len(drawn) < count:
        drawn += rnd.sample(places(), len(places()))
    return drawn[:count]


def _strike(at: str, rnd: random.Random, *, is_pause: bool = False) -> Strike:
    most = MOST_POLLS if at == Step.POLLED else MOST_BATCHES
    return Strike(at=at, nth=rnd.randint(1, most), after_s=rnd.uniform(1, 4), is_pause=is_pause)


def _broker_kills(kills: int, rnd: random.Random) -> tuple[BrokerKill, ...]:
    moments = sorted(rnd.sample(range(1, kills + 1), kills // KILLS_A_BROKER_KILL))
    return tuple(BrokerKill(after_kills=each, away_s=rnd.uniform(0, 3)) for each in moments)
