"""What a chaos run has shown: the table of strikes, the ends, and every loss and double.

Owns: the counting, the words and the JSON of it.
May not: ask a process anything.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from processors.runtime.steps import Step
from tests.chaos.plan import PROCESSES, Moment, places
from tests.chaos.victim import Struck

Identity = tuple[str, str]
COLUMNS: Final = (*map(str, Step), *map(str, Moment))
# 0 told to stop, 3 something is away; less than zero: by a signal, which here is ours. All else
# would be a wrong word: settings and rights are good here, and nobody else has a process's name.
GOOD_ENDS: Final = (0, 3, -9, -15)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """One side of the path against what is owed. The ids are those of the messages."""

    owed: int
    found: int
    lost: tuple[Identity, ...]
    doubled: tuple[Identity, ...]


def counted(owed: Iterable[Identity], found: Mapping[Identity, int]) -> Counted:
    """Each of the owed must be found once."""
    ours = set(owed)
    return Counted(
        owed=len(ours),
        found=sum(count for each, count in found.items() if each in ours),
        lost=tuple(sorted(each for each in ours if not found.get(each))),
        doubled=tuple(sorted(each for each in ours if found.get(each, 0) > 1)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """All that a run has shown. `ids` on the public topic, `mails` in the provider's mailbox."""

    seed: int
    landed: Sequence[Struck]
    broker_kills: int
    exits: Mapping[str, Counter[int]]
    ids: Counted
    mails: Counted
    seconds: float

    @property
    def is_right(self) -> bool:
        """Nothing lost, nothing doubled, and nobody ended in a way that a person must mend."""
        sides = (self.ids, self.mails)
        ends = {code for codes in self.exits.values() for code in codes}
        return not any(side.lost or side.doubled for side in sides) and ends <= set(GOOD_ENDS)

    def kills(self) -> dict[str, dict[str, int]]:
        """How often each process was killed at each place."""
        return _by_place(each for each in self.landed if not each.strike.is_pause)

    def pauses(self) -> dict[str, dict[str, int]]:
        """How often each process was paused at each place."""
        return _by_place(each for each in self.landed if each.strike.is_pause)

    def as_json(self) -> dict[str, Any]:
        """The figures, for a file."""
        return {
            "seed": self.seed,
            "is_right": self.is_right,
            "seconds": round(self.seconds, 1),
            "kills": self.kills(),
            "pauses": self.pauses(),
            "broker_kills": self.broker_kills,
            "exits": {
                name: {str(code): codes[code] for code in sorted(codes)}
                for name, codes in self.exits.items()
            },
            "ids": asdict(self.ids),
            "mails": asdict(self.mails),
        }


def _by_place(landed: Iterable[Struck]) -> dict[str, dict[str, int]]:
    counts = Counter((each.process, each.strike.at) for each in landed)
    return {name: {at: counts[name, at] for at in COLUMNS} for name in PROCESSES}


def table(outcome: Outcome) -> str:
    """The outcome as whoever ran it reads it."""
    kills, pauses = outcome.kills(), outcome.pauses()
    lines = [_row("killed at", [*COLUMNS, "sum", "paused", "ends: code x times"])]
    for name in PROCESSES:
        cells = [_cell(name, at, kills[name][at]) for at in COLUMNS]
        sums = [str(sum(kills[name].values())), str(sum(pauses[name].values()))]
        codes = outcome.exits[name]
        ends = ", ".join(f"{code} x {codes[code]}" for code in sorted(codes))
        lines.append(_row(name, [*cells, *sums, ends]))
    sums = [str(sum(kills[name][at] for name in PROCESSES)) for at in COLUMNS]
    total = str(sum(not each.strike.is_pause for each in outcome.landed))
    paused = str(sum(each.strike.is_pause for each in outcome.landed))
    lines.append(_row("sum", [*sums, total, paused, f"broker killed {outcome.broker_kills} times"]))
    lines.append(_side("ids in, ids out", outcome.ids))
    lines.append(_side("mails owed, sent", outcome.mails))
    return "\n".join(lines)


def _row(name: str, cells: Sequence[str]) -> str:
    return f"{name:<10}" + "".join(f"{cell:>7}" for cell in cells[:-1]) + f"   {cells[-1]}"


def _cell(name: str, at: str, count: int) -> str:
    return str(count) if (name, at) in places() else "-"


def _side(what: str, side: Counted) -> str:
    told = f"{what}: {side.owed}, {side.found}; {len(side.lost)} lost, {len(side.doubled)} doubled"
    names = [f"  lost {each}" for each in side.lost[:20]]
    return "\n".join([told, *names, *(f"  doubled {each}" for each in side.doubled[:20])])
