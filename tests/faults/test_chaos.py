"""The chaos run itself, short: its plan, its verdict, and four kills."""

from pathlib import Path

from tests.chaos.plan import places, plan
from tests.chaos.run import run
from tests.chaos.verdict import counted


def test_plan_is_the_same_for_a_seed() -> None:
    """A run that has failed can be made again."""
    assert plan(7, 50) == plan(7, 50)
    assert plan(7, 50) != plan(8, 50)


def test_plan_strikes_every_place() -> None:
    """A step that is never struck is a step of which nothing is known."""
    made = plan(1, len(places()))
    struck = {
        (name, strike.at)
        for name, strikes in made.strikes.items()
        for strike in strikes
        if not strike.is_pause
    }

    assert struck == set(places())


def test_verdict_names_what_is_lost_and_what_came_twice() -> None:
    """A count alone could let a loss and a double make each other good."""
    one, two, three = ("inbox", "1"), ("inbox", "2"), ("inbox", "3")

    found = counted([one, two, three], {one: 2, two: 1})

    assert (found.lost, found.doubled) == ((three,), (one,))


def test_short_chaos_run_loses_and_doubles_nothing(tmp_path: Path) -> None:
    """The run that is made long by hand must not rot in between."""
    outcome = run(plan(4, 4), tmp_path, lambda _: None)

    assert outcome.mails.lost == outcome.mails.doubled == ()
    assert outcome.ids.lost == outcome.ids.doubled == ()
    assert outcome.is_right
    assert sum(sum(at.values()) for at in outcome.kills().values()) == 4
