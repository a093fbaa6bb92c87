from processors.core.turn import Timer
from schemas.keys import InboxId, ThreadKey
from tests.reordering import Reordering, a_mail, an_answer, an_opening


def test_mail_that_began_its_thread_passes_at_once() -> None:
    """A first contact must not pay for disorder that cannot be."""
    stage = Reordering()

    stage.give(an_opening("root"))

    assert stage.story == [("root", "opening", 0)]


def test_mail_that_names_a_parent_opens_no_thread() -> None:
    """Where a provider lost the first mail, the mail's own word counts."""
    stage = Reordering()

    assert stage.give(an_opening("answer", parents=("root",))) == []


def test_mail_that_names_no_thread_opens_its_own() -> None:
    """Nothing can come before a mail in a thread that is the mail itself."""
    stage = Reordering()

    stage.give(a_mail("alone", thread_key=None))

    assert stage.story == [("alone", "opening", 0)]


def test_mail_whose_parent_went_before_passes_at_once() -> None:
    """A conversation in order is never slowed down."""
    stage = Reordering()

    stage.give(an_opening("root"), an_answer("one", "root", at_ms=1))

    assert stage.story == [("root", "opening", 0), ("one", "parent", 0)]


def test_first_mail_of_a_thread_waits_grace_when_nobody_says_it_is_the_first() -> None:
    """Its elder may be on its way: only timestamps can tell (ORD-01)."""
    stage = Reordering()

    at_once = stage.give(a_mail("second", at_ms=5_000))
    stage.wait(1_000)
    stage.give(a_mail("first"))
    after_grace = stage.wait(1_000)

    assert at_once == []
    assert after_grace == ["first", "second"]
    assert stage.story == [("first", "grace", 1_000), ("second", "grace", 2_000)]


def test_quiet_thread_is_released_by_the_clock() -> None:
    """The last mail before silence must not wait for the next one (ORD-12)."""
    stage = Reordering()

    stage.give(a_mail("only"))

    assert stage.wait(1_999) == []
    assert stage.wait(1) == ["only"]
    assert stage.desk.timers.waiting == set()


def test_mail_whose_parent_is_unknown_waits_for_it() -> None:
    """A sender's time-out and one retry fit into the wait, so the pair comes out in order."""
    stage = Reordering()

    stage.give(an_answer("second", "first", at_ms=5_000))
    stage.wait(60_000)
    released = stage.give(an_opening("first"))

    assert released == ["first", "second"]
    assert stage.story == [("first", "opening", 0), ("second", "parent", 60_000)]
    assert stage.desk.timers.waiting == set()


def test_parent_that_never_comes_is_waited_for_and_no_longer() -> None:
    """A reply to a mail from before our time must still be answered."""
    stage = Reordering()

    stage.give(an_answer("orphan", "elsewhere"))

    assert stage.wait(89_999) == []
    assert stage.wait(1) == ["orphan"]
    assert stage.story == [("orphan", "predecessor-wait", 90_000)]


def test_known_ancestor_does_not_stand_in_for_an_unknown_parent() -> None:
    """References name the whole thread; only the nearest says what must come first."""
    stage = Reordering()
    stage.give(an_opening("root"))

    assert stage.give(an_answer("third", "second", "root", at_ms=3)) == []
    assert stage.give(an_answer("second", "root", at_ms=2)) == ["second", "third"]


def test_mail_that_names_itself_has_no_parent_in_that() -> None:
    """A mail would wait for its own arrival."""
    stage = Reordering()

    stage.give(an_answer("self", "self", is_opening=True))

    assert stage.story == [("self", "opening", 0)]


def test_mails_that_name_each_other_wait_their_time() -> None:
    """A ring of parents proves nothing about what came first."""
    stage = Reordering()

    stage.give(an_answer("a", "b", at_ms=1), an_answer("b", "a", at_ms=2))

    assert stage.wait(89_999) == []
    assert stage.wait(1) == ["a", "b"]


def test_parent_known_in_another_thread_of_the_inbox_is_known() -> None:
    """The parent went before, whatever thread the provider put it in."""
    stage = Reordering()

    stage.give(an_opening("root"), an_answer("moved", "root", thread_key=ThreadKey("u")))

    assert stage.story == [("root", "opening", 0), ("moved", "parent", 0)]


def test_parent_that_comes_in_another_thread_releases_its_child() -> None:
    """Where threads are made of References, a child can stand in a thread before its root."""
    stage = Reordering()
    stage.give(an_answer("child", "root", at_ms=1, thread_key=ThreadKey("u")))

    assert stage.give(an_opening("root")) == ["root", "child"]


def test_parent_sets_a_bounded_number_of_other_threads_free() -> None:
    """One id that thousands name must not grow a row without end; they go by the clock."""
    stage = Reordering()
    for number in range(18):
        stage.give(an_answer(f"m{number}", "root", thread_key=ThreadKey(f"u{number}")))

    assert len(stage.give(an_opening("root"))) == 1 + 16
    assert len(stage.wait(90_000)) == 2


def test_same_parent_of_two_inboxes_is_two_parents() -> None:
    """One customer's mail must not stand in for another's (THR-13)."""
    stage = Reordering()

    stage.give(an_opening("root"))
    released = stage.give(an_answer("one", "root", inbox_id=InboxId("legal@other.example")))

    assert released == []


def test_same_thread_key_of_two_inboxes_is_two_threads() -> None:
    """Order and caps of one tenant must not depend on another's ids."""
    stage = Reordering()
    stage.give(an_opening("root", at_ms=9))

    stage.give(an_opening("other", inbox_id=InboxId("legal@other.example")))

    assert [each.late_by_ms for each in stage.ordered] == [None, None]


def test_without_grace_nothing_waits_for_timestamps() -> None:
    """Zero is a setting too."""
    stage = Reordering(grace_ms=0)

    stage.give(a_mail("m"))

    assert stage.story == [("m", "grace", 0)]


def test_timer_of_what_went_already_does_nothing() -> None:
    """A timer may ring in the batch in which its event was released."""
    stage = Reordering()
    stage.give(a_mail("m"))
    stage.wait(2_000)
    stage.desk.timers.set(Timer(stage.desk.now_ms, "grace", "1"))

    assert stage.wait(0) == []


def test_timer_counts_when_the_clock_was_set_back() -> None:
    """A timer that the runtime calls due is due, or a wrong clock would hold mail for years."""
    stage = Reordering()
    stage.give(a_mail("m"))
    (timer,) = stage.desk.timers.waiting
    stage.desk.now_ms = 0
    stage.desk.timers.waiting = {timer._replace(due_ms=0)}

    stage.ring()

    assert stage.story == [("m", "grace", 0)]
