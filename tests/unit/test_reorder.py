import msgspec
import pytest

from processors.core.reorder import keys_of, on_record
from processors.core.reorder_rows import IDENTITIES, THREADS
from processors.core.turn import MAX_VALUE_BYTES, Output, Timer
from schemas.codec import to_json
from schemas.errors import DecodeError, Refused, TooLarge
from schemas.events import Kind, OrderedEvent, Position
from schemas.keys import InboxId, MessageId, ThreadKey
from schemas.topics import Topic
from tests.reordering import INBOX, Reordering, a_fact, a_mail, an_answer, an_opening, names
from tests.turns import NOW_MS


def story(stage: Reordering) -> list[tuple[str, str, int]]:
    """What came out: which mail, what let it through, and how long it was held."""
    return [(each.position.tie, each.released, each.held_ms) for each in stage.ordered]


def test_mail_that_began_its_thread_passes_at_once() -> None:
    """A first contact must not pay for disorder that cannot be."""
    stage = Reordering()

    stage.give(an_opening("root"))

    assert story(stage) == [("root", "opening", 0)]


def test_mail_that_names_a_parent_opens_no_thread() -> None:
    """Where a provider lost the first mail, the mail's own word counts."""
    stage = Reordering()

    assert stage.give(an_opening("answer", parents=("root",))) == []


def test_mail_that_names_no_thread_opens_its_own() -> None:
    """Nothing can come before a mail in a thread that is the mail itself."""
    stage = Reordering()

    stage.give(a_mail("alone", thread_key=None))

    assert story(stage) == [("alone", "opening", 0)]


def test_mail_whose_parent_went_before_passes_at_once() -> None:
    """A conversation in order is never slowed down."""
    stage = Reordering()

    stage.give(an_opening("root"), an_answer("one", "root", at_ms=1))

    assert story(stage) == [("root", "opening", 0), ("one", "parent", 0)]


def test_first_mail_of_a_thread_waits_grace_when_nobody_says_it_is_the_first() -> None:
    """Its elder may be on its way: only timestamps can tell (ORD-01)."""
    stage = Reordering()

    at_once = stage.give(a_mail("second", at_ms=5_000))
    stage.wait(1_000)
    stage.give(a_mail("first"))
    after_grace = stage.wait(1_000)

    assert at_once == []
    assert after_grace == ["first", "second"]
    assert story(stage) == [("first", "grace", 1_000), ("second", "grace", 2_000)]


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
    assert story(stage) == [("first", "opening", 0), ("second", "parent", 60_000)]
    assert stage.desk.timers.waiting == set()


def test_parent_that_never_comes_is_waited_for_and_no_longer() -> None:
    """A reply to a mail from before our time must still be answered."""
    stage = Reordering()

    stage.give(an_answer("orphan", "elsewhere"))

    assert stage.wait(89_999) == []
    assert stage.wait(1) == ["orphan"]
    assert story(stage) == [("orphan", "predecessor-wait", 90_000)]


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

    assert story(stage) == [("self", "opening", 0)]


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

    assert story(stage) == [("root", "opening", 0), ("moved", "parent", 0)]


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
    assert story(stage) == [("orphan", "grace", 2_000), ("later", "grace", 2_000)]


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

    assert story(stage) == [("clamped", "grace", 2_000), ("next", "grace", 2_000)]
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


def test_without_grace_nothing_waits_for_timestamps() -> None:
    """Zero is a setting too."""
    stage = Reordering(grace_ms=0)

    stage.give(a_mail("m"))

    assert story(stage) == [("m", "grace", 0)]


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

    assert story(stage) == [("m", "grace", 0)]


def test_ordered_event_carries_headers_and_the_inbox_as_key() -> None:
    """Whoever taps the topic routes by headers, without opening the value."""
    stage = Reordering()

    stage.give(an_opening("root"))

    event = an_opening("root")
    ordered = OrderedEvent(
        event=event,
        position=Position(occurred_at_ns=event.occurred_at_ns, tie="root"),
        released="opening",
    )
    headers = (
        ("ce_specversion", b"1.0"),
        ("content-type", b"application/json"),
        ("ce_type", b"message.received"),
        ("ce_id", b"evt-root"),
        ("ce_source", b"/sources/src"),
        ("ce_subject", b"root"),
        ("ce_time", b"2026-01-05T10:00:00.000000000Z"),
        ("onereply-received-at-ms", str(NOW_MS).encode()),
    )
    assert stage.outputs == [Output(Topic.ORDERED_EVENTS, INBOX, to_json(ordered), headers)]


def test_deletion_is_skipped() -> None:
    """A record without a value says nothing to this stage."""
    stage = Reordering()

    stage.give_bytes(None)

    assert (stage.outputs, stage.desk.state.rows) == ([], {})


def test_bytes_that_are_no_event_are_set_aside() -> None:
    """One bad record must not stop the partition."""
    with pytest.raises(DecodeError):
        Reordering().give_bytes(b"{}")


def test_mail_without_a_message_id_is_set_aside() -> None:
    """Without an identity it could be answered any number of times."""
    with pytest.raises(Refused):
        Reordering().give(a_mail("m", message_id=None))


@pytest.mark.parametrize(
    "words",
    [
        {"inbox_id": "i" * 4097},
        {"thread_key": "t" * 4097},
        {"message_id": "m" * 4097},
        {"parents": ("p" * 4097,)},
    ],
    ids=["inbox", "thread", "message", "parent"],
)
def test_id_that_fits_no_key_is_set_aside(words: dict[str, object]) -> None:
    """A key of the state has a limit; meeting it must cost one record, not the stage."""
    stage = Reordering()
    record = stage.desk.record(to_json(msgspec.structs.replace(a_mail("m"), **words)))

    with pytest.raises(Refused):
        on_record(record, stage.desk.turn(record), stage.rules)
    assert keys_of(record) == ()


def test_event_that_would_not_fit_when_released_is_set_aside_on_arrival() -> None:
    """Later it would be the fault of whichever record or timer let it go."""
    with pytest.raises(TooLarge):
        Reordering().give(a_mail("m", text="x" * (MAX_VALUE_BYTES - 10_000)))


def test_rows_that_a_mail_needs_are_named_beforehand() -> None:
    """A batch reads its rows in one go."""
    stage = Reordering()
    opening, answer, fact, other = (
        keys_of(stage.desk.record(to_json(event)))
        for event in (
            a_mail("a"),
            an_answer("b", "a", thread_key=None),
            a_fact(Kind.SENT, "c"),
            a_fact(Kind.OTHER),
        )
    )

    assert opening == (IDENTITIES.key(INBOX, "a"), THREADS.key(INBOX, "t"))
    assert answer == (
        IDENTITIES.key(INBOX, "b"),
        THREADS.key(INBOX, "b"),
        IDENTITIES.key(INBOX, "a"),
    )
    assert fact == (IDENTITIES.key(INBOX, "c"),)
    assert other == ()
    assert keys_of(stage.desk.record(None)) == ()


def test_row_that_another_speaks_of_must_be_there() -> None:
    """With a hole in its state the stage stops; it does not guess."""
    stage = Reordering()
    stage.give(a_mail("m"))
    stage.turn().delete(IDENTITIES, INBOX, MessageId("m"))

    with pytest.raises(LookupError):
        stage.wait(2_000)
