import pytest

from schemas.events import OrderedEvent, Position
from tests.reordering import Reordering, a_mail, an_answer, an_opening, names
from tests.turns import NOW_MS


def test_proven_mail_waits_while_something_earlier_is_held() -> None:
    """What is in hand and older goes first."""
    stage = Reordering()
    stage.give(an_opening("root"), a_mail("held", at_ms=1), an_answer("proven", "root", at_ms=2))

    assert names(stage.outputs) == ["root"]
    assert stage.wait(2_000) == ["held", "proven"]


def test_mail_with_nothing_earlier_before_it_passes_what_is_held() -> None:
    """A mail that goes first anyway need not wait behind later ones."""
    stage = Reordering()
    stage.give(an_opening("root"), a_mail("held", at_ms=2))

    assert stage.give(an_answer("proven", "root", at_ms=1)) == ["proven"]


def test_end_of_one_wait_takes_along_what_is_earlier() -> None:
    """Released alone, it would make those late that are in hand."""
    stage = Reordering()
    stage.give(an_answer("orphan", "elsewhere", at_ms=1), a_mail("later", at_ms=2))

    assert stage.wait(2_000) == ["orphan", "later"]
    assert stage.story == [("orphan", "grace", 2_000), ("later", "grace", 2_000)]


def test_end_of_one_wait_leaves_what_is_later() -> None:
    """Each mail has its own grace, from its own arrival."""
    stage = Reordering()
    stage.give(a_mail("first", at_ms=1))
    stage.wait(1_500)
    stage.give(a_mail("second", at_ms=2))

    assert stage.wait(500) == ["first"]
    assert stage.wait(1_500) == ["second"]


def test_child_with_the_slower_clock_goes_before_its_parent() -> None:
    """Order is the payload's time, also where two clocks disagree."""
    stage = Reordering()
    stage.give(an_opening("root"), an_answer("child", "parent", at_ms=1))

    released = stage.give(an_answer("parent", "root", at_ms=2))

    assert released == ["child", "parent"]
    assert [each.late_by_ms for each in stage.ordered] == [None, None, None]


def test_child_with_the_slower_clock_waits_while_an_orphan_keeps_its_parent() -> None:
    """A parent that is here goes before its child goes alone."""
    stage = Reordering()
    stage.give(an_opening("root"), an_answer("child", "parent", at_ms=1))
    stage.give(an_answer("orphan", "elsewhere", at_ms=2))

    assert stage.give(an_answer("parent", "root", at_ms=3)) == []
    assert stage.wait(2_000) == ["child", "orphan", "parent"]


def test_child_with_the_slower_clock_waits_with_its_parent() -> None:
    """A parent that is here but may not go yet holds its child back."""
    stage = Reordering()
    stage.give(an_opening("root"), an_answer("child", "parent", at_ms=1))
    stage.give(a_mail("between", at_ms=2))

    assert stage.give(an_answer("parent", "root", at_ms=3)) == []
    assert stage.wait(2_000) == ["child", "between", "parent"]


def test_mail_after_later_ones_is_late_and_passes_at_once() -> None:
    """A correction that misses its turn must still reach a person (ORD-10)."""
    stage = Reordering()
    stage.give(a_mail("newer", at_ms=5_000))
    stage.wait(2_000)

    stage.give(an_answer("older", "elsewhere", at_ms=0))

    assert stage.ordered[-1] == OrderedEvent(
        event=an_answer("older", "elsewhere"),
        position=Position(occurred_at_ns=NOW_MS * 1_000_000, tie="older"),
        released="late",
        late_by_ms=5_000,
    )


def test_late_parent_releases_what_waited_for_it() -> None:
    """It has come, if late: nothing is gained by waiting on."""
    stage = Reordering()
    stage.give(an_opening("root", at_ms=5), an_answer("child", "parent", at_ms=9))

    assert stage.give(an_answer("parent", "root", at_ms=1)) == ["parent", "child"]


def test_late_mail_does_not_move_the_thread_back() -> None:
    """The newest stays the newest, so the next straggler is late as well."""
    stage = Reordering()
    stage.give(an_opening("root", at_ms=9), a_mail("late", at_ms=1), a_mail("later", at_ms=5))

    assert [each.late_by_ms for each in stage.ordered] == [None, 8, 4]


@pytest.mark.parametrize("mark", ["missing", "unparsable", "future", "absurd"])
def test_clamped_time_makes_no_later_mail_late(mark: str) -> None:
    """One mail dated 2096 must not turn all that follows into stragglers (ORD-07)."""
    stage = Reordering()
    stage.give(a_mail("clamped", at_ms=60_000, time_mark=mark))
    stage.wait(2_000)

    stage.give(a_mail("next", at_ms=1))
    stage.wait(2_000)

    assert stage.story == [("clamped", "grace", 2_000), ("next", "grace", 2_000)]
    assert [each.late_by_ms for each in stage.ordered] == [None, None]


def test_clamped_time_takes_nobody_along() -> None:
    """When its wait ends, a mail whose place is a guess cuts no other wait short."""
    stage = Reordering()
    stage.give(an_answer("orphan", "elsewhere"), a_mail("clamped", at_ms=9, time_mark="future"))

    assert stage.wait(2_000) == ["clamped"]
    assert stage.wait(88_000) == ["orphan"]


def test_clamped_time_goes_along_with_what_is_later() -> None:
    """Its guessed place is kept where that costs nobody anything."""
    stage = Reordering()
    stage.give(a_mail("sure", at_ms=9))
    stage.wait(1_000)
    stage.give(a_mail("clamped", at_ms=5, time_mark="future"))

    assert stage.wait(1_000) == ["clamped", "sure"]


def test_equal_times_go_by_sequence_then_by_id() -> None:
    """Ties are broken by what everyone can see, never by arrival."""
    stage = Reordering()
    stage.give(
        a_mail("b"), a_mail("a"), a_mail("z", sequence=1), a_mail("y", sequence=2), a_mail("é")
    )

    assert stage.wait(2_000) == ["a", "b", "é", "z", "y"]
