import json
from pathlib import Path

import pytest

from tests.bench.__main__ import BENCHES, build
from tests.bench.dedupe import ROWS
from tests.bench.events import Plan, plan, problem_of, rate_of
from tests.bench.figures import Bench, Column, Measured, Row, quantiles, write_json, wrong
from tests.bench.hops import HOPS
from tests.bench.reorder import problem_of as reorder_problem_of
from tests.bench.tables import table

WANTED = Plan(keys=("s/a", "s/b", "s/a", "s/c"))


def run_of(rate: float) -> Measured:
    """One run that came to this rate."""
    return Measured(figures={"rate": rate, "peak_mib": 50})


def a_bench(*, base: str = "ours", **rows: Row) -> Bench:
    """A bench that has run."""
    return Bench(name="b", question="q", given="g", base=base, run=lambda *_: None, rows=dict(rows))


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


def test_a_plan_is_the_same_each_time_and_repeats_one_in_twenty() -> None:
    """Rows of two runs can be compared only on the same events."""
    wanted = plan(10_000)

    assert plan(10_000) == wanted
    assert 9_400 < len(wanted.unique) < 9_600


def test_a_table_shows_medians_and_how_far_the_rows_are_apart() -> None:
    """One number a row, and the ratio that survives another machine."""
    bench = a_bench(
        ours=Row(runs=[run_of(3_000), run_of(1_000), run_of(2_000)]),
        other=Row(runs=[run_of(500)]),
        bad=Row(runs=[wrong("WRONG: 1 lost, 0 twice, 0 unknown")]),
        absent=Row(absent="not run: no network"),
    )

    lines = [line.split() for line in table(bench).splitlines()]

    assert lines[1:] == [
        ["ours", "2,000", "1,000", "-", "3,000", "1.00x", "50", "right"],
        ["other", "500", "4.00x", "50", "right"],
        ["bad", "0", "WRONG:", "1", "lost,", "0", "twice,", "0", "unknown"],
        ["absent", "not", "run:", "no", "network"],
    ]
    assert [row.is_right for row in bench.rows.values()] == [True, True, False, True]


def test_a_table_has_a_column_for_each_figure() -> None:
    """Milliseconds stand beside each other; a row without a figure leaves its place empty."""
    bench = a_bench(
        base="",
        hop=Row(runs=[Measured(figures={"p50_ms": 8.04, "p99_ms": 41.0})]),
        cost=Row(runs=[Measured(figures={"cpu_ms": 3.5})]),
    )
    bench.columns = [
        Column(figure="p50_ms", title="p50 ms", digits=1),
        Column(figure="p99_ms", title="p99 ms"),
        Column(figure="cpu_ms", title="CPU ms", digits=1),
    ]

    assert [line.split() for line in table(bench).splitlines()] == [
        ["p50", "ms", "p99", "ms", "CPU", "ms", "result"],
        ["hop", "8.0", "41", "right"],
        ["cost", "3.5", "right"],
    ]


def test_figures_are_written_as_json(tmp_path: Path) -> None:
    """A script finds each row by its name, and compares it with that of another version."""
    bench = a_bench(ours=Row(runs=[run_of(1_000)]), other=Row(runs=[run_of(500)]), absent=Row())

    write_json(tmp_path / "figures.json", [bench])

    rows = json.loads((tmp_path / "figures.json").read_text())["rows"]
    assert {name: (row["rate"], row["base_ratio"]) for name, row in rows.items()} == {
        "ours": (1_000, 1.0),
        "other": (500, 2.0),
        "absent": (None, None),
    }


def test_quantiles_are_times_that_occurred() -> None:
    """A mean of two mails is the latency of neither."""
    assert quantiles([float(number) for number in range(1_000, 0, -1)]) == {
        "p50_ms": 501.0,
        "p90_ms": 901.0,
        "p99_ms": 991.0,
        "max_ms": 1_000.0,
    }
    assert set(quantiles([7.0]).values()) == {7.0}


def test_each_hop_begins_where_the_one_before_it_ended() -> None:
    """The hops are the whole way: time that no hop shows would look like nobody's."""
    ways = list(HOPS.values())

    assert [begin for begin, _ in ways[1:]] == [end for _, end in ways[:-1]]


@pytest.mark.parametrize(
    ("came", "bad"),
    [
        (["1-0", "2-0", "1-1", "2-1", "1-2", "1-3", "2-2", "1-4", "2-3", "2-4"], 0),
        (["1-0", "1-1", "1-3", "1-2", "1-4", "2-0", "2-1", "2-2", "2-3", "2-4"], 1),
        (["1-0", "1-1", "1-2", "1-3", "1-4", "2-0", "2-1", "2-2", "2-3"], 1),
        (["1-0", "1-1", "1-2", "1-3", "1-4", "1-4"], 2),
    ],
    ids=["right", "out of order", "lost", "twice and a thread lost"],
)
def test_threads_out_of_order_are_seen(came: list[str], bad: int) -> None:
    """A stage that passed everything on as it came would be the fastest."""
    told = f"WRONG: {bad} threads are not whole and in order" if bad else ""

    assert reorder_problem_of(came, threads=2) == told


def test_dedupe_has_a_row_for_each_program() -> None:
    """These names are what scripts ask for."""
    assert list(ROWS) == ["ours_bare", "ours_full", "kafka_streams", "bare_loop", "quix", "faust"]


def test_no_two_benches_name_a_row_alike() -> None:
    """All rows of a run lie side by side in one JSON object."""
    names = [name for bench in map(build, BENCHES) for name in bench.rows]

    assert sorted(set(names)) == sorted(names)
