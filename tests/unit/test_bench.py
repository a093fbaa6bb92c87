import json
from pathlib import Path

import pytest

from tests.bench.events import Plan, plan, problem_of, rate_of
from tests.bench.figures import Bench, Measured, Row, table, write_json

WANTED = Plan(keys=("s/a", "s/b", "s/a", "s/c"))


def run_of(per_second: float, **differences: str) -> Measured:
    """One run that came to this rate."""
    return Measured(per_second=per_second, peak_bytes=50 * 1024 * 1024, **differences)


def a_bench(**rows: Row) -> Bench:
    """A bench that has run."""
    return Bench(
        name="b", question="q", given="g", base="ours", run=lambda *_: None, rows=dict(rows)
    )


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        (["s/c", "s/a", "s/b"], ""),
        (["s/a", "s/b"], "WRONG: 1 lost, 0 twice, 0 unknown"),
        (["s/a", "s/b", "s/c", "s/b"], "WRONG: 0 lost, 1 twice, 0 unknown"),
        (["s/a", "s/b", "s/c", "s/x"], "WRONG: 0 lost, 0 twice, 1 unknown"),
        ([], "WRONG: 3 lost, 0 twice, 0 unknown"),
    ],
    ids=["right", "lost", "twice", "unknown", "nothing"],
)
def test_a_wrong_result_is_seen(keys: list[str], problem: str) -> None:
    """A fast wrong answer is the usual one."""
    assert problem_of(keys, WANTED) == problem


def test_a_rate_leaves_out_the_first_tenth() -> None:
    """A program reads a whole batch before its first output; that time is not known."""
    steady = [1_000 + number for number in range(1_000)]

    assert rate_of([*[0] * 100, *steady[100:]], events=1_100) == pytest.approx(1_100, rel=0.01)


def test_outputs_at_one_moment_have_no_rate() -> None:
    """Too few events to measure must not divide by nothing."""
    assert rate_of([1_000, 1_000], events=10) == 0.0


def test_a_plan_is_the_same_each_time_and_repeats_a_tenth() -> None:
    """Rows of two runs can be compared only on the same events."""
    wanted = plan(10_000)

    assert plan(10_000) == wanted
    assert 8_900 < len(wanted.unique) < 9_200


def test_a_table_shows_medians_and_how_far_the_rows_are_apart() -> None:
    """One number a row, and the ratio that survives another machine."""
    bench = a_bench(
        ours=Row(runs=[run_of(3_000), run_of(1_000), run_of(2_000)]),
        other=Row(runs=[run_of(500, problem="WRONG: 1 lost, 0 twice, 0 unknown")]),
        absent=Row(absent="not run: no network"),
    )

    lines = [line.split() for line in table(bench).splitlines()]

    assert lines[1] == ["ours", "2,000", "1,000", "-", "3,000", "1.00x", "50", "right"]
    assert lines[2][:6] == ["other", "500", "500", "-", "500", "4.00x"]
    assert lines[3] == ["absent", "not", "run:", "no", "network"]
    assert [row.is_right for row in bench.rows.values()] == [True, False, True]


def test_figures_are_written_as_json(tmp_path: Path) -> None:
    """A script compares them with those of another version."""
    bench = a_bench(ours=Row(runs=[run_of(1_000)]), other=Row(runs=[run_of(500)]))

    write_json(tmp_path / "figures.json", [bench])

    rows = json.loads((tmp_path / "figures.json").read_text())["rows"]
    assert {name: row["base_ratio"] for name, row in rows.items()} == {
        "b/ours": 1.0,
        "b/other": 2.0,
    }
