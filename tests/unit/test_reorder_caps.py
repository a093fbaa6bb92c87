from processors.core.reorder_rows import TOTALS, Totals
from schemas.codec import to_json
from schemas.keys import ThreadKey
from tests.reordering import Reordering, a_mail, an_announcement, an_answer, an_opening


def story(stage: Reordering) -> list[tuple[str, str]]:
    """What came out, and what let it through."""
    return [(each.position.tie, each.released) for each in stage.ordered]


def of_thread(name: str, *, at_ms: int = 0) -> dict[str, object]:
    """What makes a mail one of this thread."""
    return {"thread_key": ThreadKey(name), "at_ms": at_ms}


def test_full_thread_releases_its_first_in_order() -> None:
    """At the limit the oldest goes early and says so; nothing becomes late by it."""
    stage = Reordering(hold_per_thread=2)

    stage.give(a_mail("c", at_ms=3), a_mail("b", at_ms=2), a_mail("a", at_ms=1))

    assert story(stage) == [("a", "cap")]
    assert stage.wait(2_000) == ["b", "c"]
    assert [each.late_by_ms for each in stage.ordered] == [None, None, None]


def test_full_thread_leaves_other_threads_alone() -> None:
    """One noisy conversation costs nobody else a wait."""
    stage = Reordering(hold_per_thread=1)

    stage.give(a_mail("a"), a_mail("other", thread_key=ThreadKey("u")), a_mail("b", at_ms=1))

    assert story(stage) == [("a", "cap")]


def test_full_partition_releases_what_is_held_longest() -> None:
    """Memory has an end, and the one who has waited longest loses least."""
    stage = Reordering(hold_per_partition=2)

    stage.give(
        a_mail("a", thread_key=ThreadKey("1")),
        a_mail("b", thread_key=ThreadKey("2")),
        a_mail("c", thread_key=ThreadKey("3")),
        a_mail("d", thread_key=ThreadKey("4")),
    )

    assert story(stage) == [("a", "cap"), ("b", "cap")]


def test_longest_held_takes_along_what_is_earlier_in_its_thread() -> None:
    """Also at the limit nothing in hand is made late."""
    stage = Reordering(hold_per_partition=2)

    stage.give(a_mail("b", at_ms=2), a_mail("a", at_ms=1), a_mail("x", thread_key=ThreadKey("u")))

    assert story(stage) == [("a", "cap"), ("b", "cap")]


def test_partition_is_full_by_bytes_too() -> None:
    """A few large mails weigh as much as many small ones."""
    small, large = a_mail("a", text="x" * 100), an_answer("b", "z", text="x" * 5_000)
    room = len(to_json(small)) + len(to_json(large))
    enough, too_little = Reordering(hold_bytes=room), Reordering(hold_bytes=room - 1)

    enough.give(small, large)
    too_little.give(small, large)

    assert story(enough) == []
    assert story(too_little) == [("a", "cap")]


def test_event_larger_than_all_that_may_be_held_passes() -> None:
    """The limit bounds memory; it is no reason to lose a mail."""
    stage = Reordering(hold_bytes=100)

    stage.give(a_mail("m"))

    assert story(stage) == [("m", "cap")]
    assert stage.held == []


def test_cap_frees_what_waited_for_the_released() -> None:
    """A parent that had to go early has gone."""
    stage = Reordering(hold_per_partition=2)
    stage.give(a_mail("parent"), an_answer("child", "parent", at_ms=1))

    stage.give(a_mail("x", thread_key=ThreadKey("u")))

    assert story(stage) == [("parent", "cap"), ("child", "parent")]


def test_late_announcement_counts_and_goes_like_all_others() -> None:
    """It is held outside its thread, but not outside the limit."""
    stage = Reordering(hold_per_partition=1)
    stage.give(an_opening("root", at_ms=5), an_announcement("old", at_ms=1))

    stage.give(a_mail("x", thread_key=ThreadKey("u")))

    assert story(stage) == [("root", "opening"), ("old", "cap")]
    assert stage.ordered[-1].event.message_id is None


def test_count_of_what_is_held_stays_true() -> None:
    """A count that drifts would one day release everything, or nothing."""
    stage = Reordering()
    stage.give(a_mail("a"), an_answer("b", "z", at_ms=9), an_announcement("c", at_ms=10))
    sizes = [row.size_bytes for row in stage.held]

    stage.wait(2_000)
    after_grace = stage.turn().get(TOTALS)
    stage.wait(300_000)

    assert after_grace == Totals(count=2, size_bytes=sum(sizes[1:]), next_number=4, oldest=1)
    assert stage.turn().get(TOTALS) == Totals(count=0, size_bytes=0, next_number=4, oldest=1)


def test_numbers_are_not_used_again() -> None:
    """A timer names its event by number; a second one of that number would be let go by it."""
    stage = Reordering()
    stage.give(a_mail("a"))
    stage.wait(2_000)

    stage.give(a_mail("b", at_ms=1))

    assert [row.number for row in stage.held] == [2]
