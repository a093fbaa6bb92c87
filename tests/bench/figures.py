"""What a bench measures, and what of it a script gets.

Owns: medians over runs, ratios within one run, the JSON.
May not: judge a figure. It reports a wrong result, because a fast wrong answer is the usual one.
"""

import json
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Final

MIB: Final = 1024 * 1024
RATE: Final = "rate"
PEAK_MIB: Final = "peak_mib"
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One run of one row. `problem` says what was wrong with its result; empty when nothing was."""

    figures: Mapping[str, float]
    problem: str = ""


def wrong(problem: str) -> Measured:
    """A run whose result was not right: it has no speed."""
    return Measured(figures={RATE: 0.0}, problem=problem)


@dataclass(slots=True)
class Row:
    """All runs of one row; or why there are none."""

    runs: list[Measured] = field(default_factory=list)
    absent: str = ""

    @property
    def is_right(self) -> bool:
        """Whether no run came to a wrong result."""
        return all(not run.problem for run in self.runs)

    @property
    def problem(self) -> str:
        """The first thing that was wrong; empty when nothing was."""
        return next((run.problem for run in self.runs if run.problem), "")

    def each(self, figure: str) -> list[float]:
        """The figure in each run that has it."""
        return [run.figures[figure] for run in self.runs if figure in run.figures]

    def median(self, figure: str) -> float | None:
        """The median of the runs; None where no run has the figure."""
        found = self.each(figure)
        return median(found) if found else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A figure as a table shows it."""

    figure: str
    title: str
    digits: int = 0


QUANTILES: Final = {"p50_ms": 0.5, "p90_ms": 0.9, "p99_ms": 0.99, "max_ms": 1.0}
MILLISECONDS: Final = tuple(
    Column(figure=name, title=name.replace("_", " "), digits=1) for name in QUANTILES
)
RATES: Final = (
    Column(figure=RATE, title="median/s"),
    Column(figure=PEAK_MIB, title="peak MiB"),
)


@dataclass(slots=True, kw_only=True)
class Bench:
    """A question, what it is asked with, and its rows.

    The first column leads: its spread is shown, and where `base` names a row, the ratio to it.
    Row names are unique over all benches. `is_long`: its broker is tuned for a long run.
    """

    name: str
    question: str
    given: str
    run: Callable[[str, Path, Say], None]
    rows: dict[str, Row]
    columns: Sequence[Column] = RATES
    base: str = ""
    needs_broker: bool = True
    is_long: bool = True

    def ratio(self, name: str) -> float | None:
        """How many times this row the base is; None without a base, or without a figure."""
        lead = self.columns[0].figure
        base = self.rows[self.base].median(lead) if self.base else None
        own = self.rows[name].median(lead)
        return base / own if base and own else None


def quantiles(times_ms: Sequence[float]) -> dict[str, float]:
    """The quantiles of these times, each a time that occurred. There is at least one."""
    times = sorted(times_ms)
    return {name: times[min(int(len(times) * q), len(times) - 1)] for name, q in QUANTILES.items()}


def machine() -> str:
    """Where this was measured."""
    system = f"{platform.system()} {platform.machine()}"
    return f"Python {platform.python_version()}, {os.cpu_count()} cores, {system}"


def write_json(path: Path, benches: Sequence[Bench]) -> None:
    """The figures for a script: `{"rows": {NAME: {"rate": ..., ...}}}`, medians by figure."""
    rows = {name: _as_json(bench, name) for bench in benches for name in bench.rows}
    path.write_text(json.dumps({"machine": machine(), "rows": rows}, indent=2), encoding="utf-8")


def _as_json(bench: Bench, name: str) -> dict[str, Any]:
    row = bench.rows[name]
    return {column.figure: row.median(column.figure) for column in bench.columns} | {
        "bench": bench.name,
        "base_ratio": bench.ratio(name),
        "runs": [dict(run.figures) for run in row.runs],
        "problems": [run.problem for run in row.runs if run.problem],
        "absent": row.absent,
    }
