"""Figures as text: one line a row, one column a figure.

Owns: the layout.
May not: compute what it shows.
"""

from collections.abc import Sequence

from tests.bench.figures import Bench, Column, Row


def table(bench: Bench) -> str:
    """The rows as text, what came of each at the end of its line."""
    lines = [_head(bench), *(_line(bench, name) for name in bench.rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    return "\n".join(_laid_out(line, widths) for line in lines)


def _head(bench: Bench) -> tuple[str, ...]:
    lead, *others = (column.title for column in bench.columns)
    ratio = (f"{bench.base} is",) if bench.base else ()
    spread = ("spread",) if _has_spread(bench) else ()
    return ("", lead, *spread, *ratio, *others, "result")


def _line(bench: Bench, name: str) -> tuple[str, ...]:
    row = bench.rows[name]
    lead, *others = bench.columns
    ratio = bench.ratio(name)
    ratios = (("" if ratio is None else f"{ratio:.2f}x",)) if bench.base else ()
    result = row.absent or row.problem or "right"
    return (
        name,
        _cell(row, lead),
        *((_spread(row, lead),) if _has_spread(bench) else ()),
        *ratios,
        *(_cell(row, column) for column in others),
        result,
    )


def _cell(row: Row, column: Column) -> str:
    found = row.median(column.figure)
    return "" if found is None else f"{found:,.{column.digits}f}"


def _has_spread(bench: Bench) -> bool:
    return any(len(row.runs) > 1 for row in bench.rows.values())


def _spread(row: Row, column: Column) -> str:
    found = row.each(column.figure)
    if len(found) < 2:
        return ""
    return f"{min(found):,.{column.digits}f} - {max(found):,.{column.digits}f}"


def _laid_out(line: Sequence[str], widths: Sequence[int]) -> str:
    first, *numbers, last = zip(line, widths, strict=True)
    cells = [first[0].ljust(first[1]), *(text.rjust(width) for text, width in numbers), last[0]]
    return "  ".join(cells).rstrip()
