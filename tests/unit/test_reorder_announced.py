import msgspec
import pytest

from schemas.events import Kind, OrderedEvent, Position
from schemas.keys import EventKey, ThreadKey
from tests.reordering import Reordering, a_fact, a_mail, an_announcement, an_answer, an_opening
from tests.turns import NOW_MS

FETCH_WAIT_MS = 300_000


def released(stage: Reordering) -> list[tuple[str, str]]:
    """What came out, and what let it through."""
    return [(each.position.tie, each.released) for each in stage.ordered]


def test_announced_mail_keeps_its_place_until_it_is_here() -> None:
    """What came later waits for the content of what came first."""
    stage = Reordering()
    stage.give(an_announcement("first"), a_mail("second", at_ms=1))
    stage.wait(10_000)

    assert stage.ordered == []
    assert stage.give(a_mail("first")) == ["first", "second"]
    assert released(stage) == [("first", "grace"), ("second", "grace")]
    assert stage.duplicates == []
    assert stage.desk.timers.waiting == set()


def test_fetched_mail_that_opens_its_thread_passes_at_once() -> None:
    """In a quiet thread a read costs its own time and nothing more."""
    stage = Reordering()
    stage.give(an_announcement("m", is_opening=True))

    stage.give(an_opening("m"))

    assert released(stage) == [("m", "opening")]
    assert stage.held == []


def test_fetched_mail_lets_the_grace_of_others_run_on() -> None:
    """Each mail has its own grace; the read may be faster than that."""
    stage = Reordering()
    stage.give(an_announcement("first"), a_mail("second", at_ms=1))
    stage.wait(500)
    stage.give(an_opening("first"))

    assert released(stage) == [("first", "opening")]
    assert stage.wait(1_499) == []
    assert stage.wait(1) == ["second"]


def test_fetched_mail_of_another_thread_sets_the_first_thread_free() -> None:
    """Its headers may say that it belongs elsewhere."""
    stage = Reordering()
    stage.give(an_announcement("m"), a_mail("behind", at_ms=1))
    stage.wait(5_000)

    assert stage.give(an_opening("m", thread_key=ThreadKey("u"))) == ["m", "behind"]


def test_answer_to_an_announced_mail_waits_for_it() -> None:
    """A chain hangs together also where its first mail must be read."""
    stage = Reordering()
    stage.give(an_announcement("first"), an_answer("second", "first", at_ms=1))
    stage.wait(60_000)

    assert stage.give(an_opening("first")) == ["first", "second"]


def test_mail_that_stays_unavailable_goes_as_its_announcement() -> None:
    """Someone wrote, and that much must be seen; without an id nothing answers it."""
    stage = Reordering()
    announcement = an_announcement("m", at_ms=7)
    stage.give(announcement)

    assert stage.wait(FETCH_WAIT_MS - 1) == []
    stage.wait(1)

    assert stage.ordered == [
        OrderedEvent(
            event=msgspec.structs.replace(announcement, message_id=None),
            position=Position(occurred_at_ns=(NOW_MS + 7) * 1_000_000, tie="m"),
            released="fetch-wait",
            held_ms=FETCH_WAIT_MS,
        )
    ]


def test_end_of_the_fetch_wait_frees_what_stood_behind() -> None:
    """Waiting is bounded by the announced mail's own wait."""
    stage = Reordering()
    stage.give(an_announcement("first"))
    stage.wait(1_000)
    stage.give(a_mail("second", at_ms=1), an_answer("third", "first", at_ms=2))

    stage.wait(FETCH_WAIT_MS - 1_000)

    assert [name for name, _ in released(stage)] == ["first", "second", "third"]
    assert stage.held == []


def test_event_waits_behind_announcements_no_longer_than_one_would() -> None:
    """A stream of announcements must not hold a mail up for ever."""
    stage = Reordering()
    stage.give(a_mail("mail", at_ms=9))
    stage.wait(1_000)
    stage.give(an_announcement("one", at_ms=1))
    stage.wait(200_000)
    stage.give(an_announcement("two", at_ms=2))

    stage.wait(FETCH_WAIT_MS - 201_000)

    assert ("mail", "grace") in released(stage)
    assert stage.desk.now_ms == NOW_MS + FETCH_WAIT_MS


def test_event_waits_for_the_last_of_the_announcements_before_it() -> None:
    """The first that is given up does not give up the second."""
    stage = Reordering()
    stage.give(an_announcement("one", at_ms=1))
    stage.wait(1_000)
    stage.give(an_announcement("two", at_ms=2))
    stage.wait(1_000)
    stage.give(a_mail("mail", at_ms=9))

    assert stage.wait(FETCH_WAIT_MS - 2_000) == ["announced-one"]
    assert stage.wait(1_000) == ["announced-two", "mail"]


def test_announcement_that_is_later_holds_nothing_up() -> None:
    """Only what is earlier is waited for."""
    stage = Reordering()
    stage.give(an_announcement("later", at_ms=9), a_mail("first"))

    assert stage.wait(2_000) == ["first"]


def test_late_announcement_holds_nothing_up_and_is_late() -> None:
    """Its turn has passed: the thread goes on while the mail is read."""
    stage = Reordering()
    stage.give(an_opening("root", at_ms=5), an_announcement("old", at_ms=1))

    assert stage.give(an_answer("next", "root", at_ms=6)) == ["next"]
    stage.wait(FETCH_WAIT_MS)

    assert released(stage)[-1] == ("old", "fetch-wait")
    assert stage.ordered[-1].late_by_ms == 5
    assert stage.held == []


def test_late_announced_mail_that_is_fetched_is_late() -> None:
    """Late and whole is better than late and empty."""
    stage = Reordering()
    stage.give(an_opening("root", at_ms=5), an_announcement("old", at_ms=1))

    stage.give(a_mail("old", at_ms=1))

    assert released(stage)[-1] == ("old", "late")
    assert stage.held == []


def test_full_copy_takes_the_place_of_an_emitted_announcement() -> None:
    """A mail that catch-up brings after all is not a duplicate of its announcement."""
    stage = Reordering()
    stage.give(an_announcement("m"))
    stage.wait(FETCH_WAIT_MS)

    stage.give(a_mail("m"))
    stage.wait(2_000)

    assert released(stage) == [("m", "fetch-wait"), ("m", "grace")]
    assert [each.event.kind for each in stage.ordered] == [Kind.ANNOUNCED, Kind.RECEIVED]


@pytest.mark.parametrize("is_settled", [False, True], ids=["pending", "settled"])
def test_announcement_after_its_mail_is_a_duplicate(is_settled: bool) -> None:  # noqa: FBT001  # a case
    """A second endpoint may announce what catch-up has brought already."""
    stage = Reordering()
    stage.give(an_opening("m") if is_settled else a_mail("m"))

    stage.give(an_announcement("m"))

    assert [each.reason for each in stage.duplicates] == ["same-message"]


def test_second_announcement_is_a_duplicate() -> None:
    """One place is kept for one mail."""
    stage = Reordering()
    stage.give(an_announcement("m"), an_announcement("m", event_key=EventKey("other/evt")))

    assert [each.event_key for each in stage.duplicates] == ["other/evt"]
    assert len(stage.held) == 1


def test_replay_tells_the_mail_and_not_its_announcement() -> None:
    """The mail took the place, so the mail is what a replay tells."""
    stage = Reordering()
    stage.give(an_announcement("m"), an_opening("m"))
    first = stage.ordered

    stage.give(an_announcement("m"), an_opening("m"), mark="replay-1")

    assert stage.ordered == first * 2
    assert [each.event_key for each in stage.duplicates] == ["src/announced-m"]


def test_replay_tells_an_unavailable_mail_again_as_its_announcement() -> None:
    """What was told without a mail is told again without one."""
    stage = Reordering()
    stage.give(an_announcement("m"))
    stage.wait(FETCH_WAIT_MS)

    stage.give(an_announcement("m"), mark="replay-1")

    assert stage.ordered[1] == stage.ordered[0]


def test_replayed_announcement_that_is_held_is_dropped() -> None:
    """It is still to be told, by itself or by its mail."""
    stage = Reordering()
    stage.give(an_announcement("m"))

    stage.give(an_announcement("m"), mark="replay-1")

    assert stage.outputs == []
    assert len(stage.held) == 1


def test_announced_mail_that_was_given_up_is_a_known_parent() -> None:
    """Its answers have nothing left to wait for."""
    stage = Reordering()
    stage.give(an_announcement("m"))
    stage.wait(FETCH_WAIT_MS)

    assert stage.give(an_answer("answer", "m", at_ms=1)) == ["answer"]


def test_timer_set_back_does_not_break_the_wait_behind_an_announcement() -> None:
    """A clock that jumps makes a mail's own timer ring early; it waits on all the same."""
    stage = Reordering()
    stage.give(an_announcement("first"), a_mail("second", at_ms=1))
    stage.desk.timers.waiting = {
        each._replace(due_ms=0) if each.kind == "grace" else each
        for each in stage.desk.timers.waiting
    }

    assert stage.wait(0) == []
    assert stage.wait(FETCH_WAIT_MS) == ["announced-first", "second"]


def test_fact_of_an_announced_mail_leaves_it_held() -> None:
    """What is said of a mail does not bring it."""
    stage = Reordering()
    stage.give(an_announcement("m"), a_fact(Kind.OPENED, "m"))

    assert [each.message_id for each in stage.held] == ["m"]
