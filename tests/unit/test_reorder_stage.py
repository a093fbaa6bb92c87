import pytest

from processors.core.reorder_rows import Rules
from processors.reorder import build, rules_of
from schemas.codec import to_json
from schemas.directory import Directory
from schemas.settings import load_settings
from schemas.topics import Topic
from tests.reordering import RULES, a_mail, names
from tests.turns import Desk


def test_defaults_are_those_of_the_design() -> None:
    """The promise in the README is made of these numbers."""
    assert rules_of(load_settings()) == RULES


def test_settings_become_rules() -> None:
    """Each limit can be set."""
    settings = load_settings(
        grace_ms=1,
        predecessor_wait_ms=2,
        fetch_wait_ms=3,
        hold_per_thread=4,
        hold_per_partition=5,
        hold_bytes=6_000,
        identity_horizon_s=1_000_000,
    )

    assert rules_of(settings) == Rules(
        grace_ms=1,
        predecessor_wait_ms=2,
        fetch_wait_ms=3,
        hold_per_thread=4,
        hold_per_partition=5,
        hold_bytes=6_000,
        horizon_ms=1_000_000_000,
    )


def test_stage_reads_events_and_holds_them_by_its_rules() -> None:
    """The shell adds nothing to what the core decides."""
    stage, desk = build(load_settings(grace_ms=500), Directory()), Desk()
    record = desk.record(to_json(a_mail("m")))
    stage.on_record(record, desk.turn(record))
    (timer,) = desk.timers.waiting
    turn = desk.turn()

    stage.on_timer(timer, turn)

    assert (stage.name, stage.input, stage.changelog) == (
        "reorder",
        Topic.THREAD_EVENTS,
        Topic.REORDER_STATE,
    )
    assert timer.due_ms == desk.now_ms + 500
    assert names(turn.outputs) == ["m"]
    assert len(stage.keys(record)) == 2


@pytest.mark.parametrize(
    ("kind", "limit_ms"), [("grace", 2_000), ("predecessor", 90_000), ("fetch", 300_000)]
)
def test_no_timer_is_further_off_than_its_wait(kind: str, limit_ms: int) -> None:
    """A clock that jumped back must not hold mail longer than the longest wait."""
    assert build(load_settings(), Directory()).timer_limits_ms[kind] == limit_ms
