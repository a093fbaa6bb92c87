"""What a bench measures, and how it is shown.

Owns: medians, ratios within one run, the table and the JSON.
May not: judge a speed. It reports a wrong result, because a fast wrong answer is the usual one.
"""

import json
import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Final

_MB: Final = 1024 * 1024
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One run of one row. `problem` says what was wrong with its result; empty when nothing was."""

    per_second: float
    peak_bytes: int
    problem: str = ""


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
    def per_second(self) -> float:
        """The median; 0 without a run."""
        return median([run.per_second for run in self.runs]) if self.runs else 0.0


@dataclass(slots=True, kw_only=True)
class Bench:
    """A question, what it is asked with, and its rows. Ratios are to the row `base`."""

    name: str
    question: str
    given: str
    base: str
    run: Callable[[str, Path, Say], None]
    rows: dict[str, Row]


def machine() -> str:
    """Where this was measured."""
    system = f"{platform.system()} {platform.machine()}"
    return f"Python {platform.python_version()}, {os.cpu_count()} cores, {system}"


def table(bench: Bench) -> str:
    """The rows as text."""
    base = bench.rows[bench.base].per_second
    head = ("", "median/s", "spread/s", f"{bench.base} is", "peak MB", "result")
    lines: list[Sequence[str]] = [head]
    lines += [_line(name, row, base) for name, row in bench.rows.items()]
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    return "\n".join(_laid_out(line, widths) for line in lines)


def _line(name: str, row: Row, base: float) -> tuple[str, ...]:
    if not row.runs:
        return name, "", "", "", "", row.absent
    speeds = [run.per_second for run in row.runs]
    return (
        name,
        f"{row.per_second:,.0f}",
        f"{min(speeds):,.0f} - {max(speeds):,.0f}",
        f"{base / row.per_second:.2f}x" if base and row.per_second else "",
        f"{max(run.peak_bytes for run in row.runs) / _MB:.0f}",
        next((run.problem for run in row.runs if run.problem), "right"),
    )


def _laid_out(line: Sequence[str], widths: Sequence[int]) -> str:
    first, *numbers, last = zip(line, widths, strict=True)
    cells = [first[0].ljust(first[1]), *(text.rjust(width) for text, width in numbers), last[0]]
    return "  ".join(cells).rstrip()


def write_json(path: Path, benches: Sequence[Bench]) -> None:
    """The figures for a script: `{"rows": {"BENCH/ROW": {...}}}`."""
    rows = {
        f"{bench.name}/{name}": _as_json(row, bench.rows[bench.base].per_second)
        for bench in benches
        for name, row in bench.rows.items()
    }
    path.write_text(json.dumps({"machine": machine(), "rows": rows}, indent=2), encoding="utf-8")


def _as_json(row: Row, base: float) -> dict[str, Any]:
    return {
        "per_second": row.per_second,
        "runs": [run.per_second for run in row.runs],
        "base_ratio": base / row.per_second if row.per_second else None,
        "peak_bytes": max((run.peak_bytes for run in row.runs), default=0),
        "problems": [run.problem for run in row.runs if run.problem],
        "absent": row.absent,
    }
