import msgspec
import pytest

from processors.core.reorder_rows import COPIES
from schemas.events import Duplicate, Kind, OrderedEvent, ThreadEvent, Where
from schemas.headers import header
from schemas.keys import EventKey, InboxId, MessageId, ThreadKey
from schemas.topics import Topic
from tests.reordering import INBOX, ORIGIN, Reordering, a_fact, a_mail, an_answer, an_opening
from tests.turns import NOW_MS

DAY_MS = 24 * 3600 * 1000


def another(event: ThreadEvent, **changes: object) -> ThreadEvent:
    """The same mail as another event."""
    return msgspec.structs.replace(
        event, event_key=EventKey("other/evt-9"), event_id="evt-9", **changes
    )


def the_duplicate(reason: str) -> Duplicate:
    """What is said of the other event of mail "m"."""
    return Duplicate(
        event_key=EventKey("other/evt-9"),
        reason=reason,
        origin=ORIGIN,
        stage="reorder",
        first=ORIGIN,
        first_at_ms=NOW_MS,
        inbox_id=INBOX,
        message_id=MessageId("m"),
    )


def marks(stage: Reordering) -> list[str | None]:
    """The marks of what came out on `ordered-events`."""
    return [each.mark for each in stage.outputs if each.topic is Topic.ORDERED_EVENTS]


@pytest.mark.parametrize("waited_ms", [0, 2_000], ids=["held", "settled"])
def test_other_event_of_the_same_mail_is_a_duplicate(waited_ms: int) -> None:
    """A second endpoint or a new event id must not bring a second reply."""
    stage = Reordering()
    stage.give(a_mail("m"))
    stage.wait(waited_ms)

    stage.give(another(a_mail("m")))
    stage.wait(2_000)

    assert stage.duplicates == [the_duplicate("same-message")]
    assert [each.event.event_key for each in stage.ordered] == ["src/evt-m"]


def test_duplicate_with_other_content_says_so() -> None:
    """Senders reuse message ids; a person must be able to see the second text (THR-09)."""
    stage = Reordering()

    stage.give(an_opening("m"), another(an_opening("m"), content_hash="edited"))

    assert stage.duplicates == [the_duplicate("content-differs")]


@pytest.mark.parametrize("unknown", ["first", "second"])
def test_content_differs_only_where_both_are_known(unknown: str) -> None:
    """No hash is no evidence."""
    stage = Reordering()
    first, second = an_opening("m"), another(an_opening("m"))
    if unknown == "first":
        first = msgspec.structs.replace(first, content_hash=None)
    else:
        second = msgspec.structs.replace(second, content_hash=None)

    stage.give(first, second)

    assert stage.duplicates == [the_duplicate("same-message")]


def test_same_event_that_comes_back_after_its_horizon_is_a_duplicate() -> None:
    """The door forgets after a week, the mail is remembered for a month (DUP-10)."""
    stage = Reordering()
    stage.give(an_opening("m"))
    stage.wait(8 * DAY_MS)

    stage.give(an_opening("m"))

    assert [each.reason for each in stage.duplicates] == ["same-event"]
    assert len(stage.ordered) == 1


def test_duplicate_goes_under_its_event_key_with_headers() -> None:
    """Operators look it up by the event that they miss."""
    stage = Reordering()
    stage.give(an_opening("m"), another(an_opening("m")))

    output = stage.outputs[-1]

    assert (output.topic, output.key) == (Topic.DUPLICATE_EVENTS, "other/evt-9")
    assert header(output.headers, "ce_type") == "event.duplicate"
    assert header(output.headers, "ce_id") == "evt-9"


def test_duplicate_without_an_origin_names_its_record() -> None:
    """A first sighting is always somewhere."""
    stage = Reordering()

    stage.give(an_opening("m", origin=None), another(an_opening("m", origin=None)))

    (duplicate,) = stage.duplicates
    assert duplicate.first == Where(topic="topic", partition=0, offset=0)
    assert duplicate.origin == Where(topic="topic", partition=0, offset=1)


def test_same_mail_in_two_inboxes_is_two_mails() -> None:
    """Each department answers what it got (DUP-07)."""
    stage = Reordering()

    stage.give(an_opening("m"), another(an_opening("m", inbox_id=InboxId("legal@inbox.example"))))

    assert len(stage.ordered) == 2
    assert stage.duplicates == []


def test_derived_ids_are_one_an_event() -> None:
    """Mails without an id are told apart by their events alone, equal text or not."""
    stage = Reordering()

    stage.give(
        an_opening("derived 1", is_derived_id=True, content_hash="same"),
        another(an_opening("derived 2", is_derived_id=True, content_hash="same")),
    )

    assert len(stage.ordered) == 2


def test_mail_past_the_horizon_is_new() -> None:
    """What is forgotten is forgotten at one moment, whatever the sweep has reached."""
    stage = Reordering()
    stage.give(an_opening("m"))
    stage.wait(30 * DAY_MS)

    stage.give(another(an_opening("m")))

    assert [each.released for each in stage.ordered] == ["opening", "opening"]


def test_held_mail_is_remembered_past_the_horizon() -> None:
    """A horizon shorter than a wait must not split the two."""
    stage = Reordering(horizon_ms=1_000)
    stage.give(a_mail("m"))
    stage.wait(1_500)

    stage.give(another(a_mail("m")))

    assert [each.reason for each in stage.duplicates] == ["same-message"]


def test_every_event_of_a_mail_is_remembered_for_erasure() -> None:
    """Erasing a message means erasing each event that carried it."""
    stage = Reordering()

    stage.give(an_opening("m"), another(an_opening("m")), an_opening("m"))

    prefix = len(COPIES.key(INBOX, "m"))
    copies = [key for key in stage.desk.state.rows if key[:1] == COPIES.key()]
    assert [key[prefix + 2 :] for key in copies] == [b"other/evt-9"]


def test_replay_tells_the_winner_again_as_it_was() -> None:
    """A rebuilt consumer must find each mail at the place it had."""
    stage = Reordering()
    stage.give(a_mail("newer", at_ms=5), a_mail("older", at_ms=1))
    stage.wait(2_000)
    first = stage.ordered

    stage.give(a_mail("newer", at_ms=5), a_mail("older", at_ms=1), mark="replay-1")

    assert stage.ordered == [*first, first[1], first[0]]
    assert marks(stage) == [None, None, "replay-1", "replay-1"]


def test_replay_tells_a_late_mail_late_again() -> None:
    """Decisions of a replay must equal those of the first run (ORD-14)."""
    stage = Reordering()
    stage.give(an_opening("newer", at_ms=5), a_mail("older", at_ms=1))

    stage.give(a_mail("older", at_ms=1), mark="replay-1")

    assert stage.ordered[2] == stage.ordered[1]
    assert stage.ordered[2].late_by_ms == 4


def test_replayed_copy_of_another_event_is_a_duplicate_again() -> None:
    """The winner alone is told again."""
    stage = Reordering()
    stage.give(an_opening("m"), another(an_opening("m")))

    stage.give(another(an_opening("m")), mark="replay-1")

    assert [each.reason for each in stage.duplicates] == ["same-message", "same-message"]
    assert [each.mark for each in stage.outputs] == [None, None, "replay-1"]


def test_replayed_copy_of_a_held_mail_is_dropped() -> None:
    """It is still to be told, once."""
    stage = Reordering()
    stage.give(a_mail("m"))

    stage.give(a_mail("m"), another(a_mail("m")), mark="replay-1")
    stage.wait(2_000)

    assert marks(stage) == [None]
    assert stage.duplicates == []


def test_replayed_mail_that_is_unknown_is_held_under_its_mark() -> None:
    """The mark must survive the wait, or a replay would answer mail by itself."""
    stage = Reordering()
    stage.give(a_mail("m"), mark="replay-1")

    stage.wait(2_000)

    assert marks(stage) == ["replay-1"]


def test_each_released_mail_keeps_its_own_mark() -> None:
    """New mail that releases a replayed one is new all the same, and the other way round."""
    stage = Reordering()
    stage.give(an_answer("b", "a", at_ms=2), mark="replay-1")

    stage.give(an_opening("a", at_ms=1))

    assert marks(stage) == [None, "replay-1"]


def test_winner_told_twice_by_the_stage_before_is_told_once_here() -> None:
    """After a rewind of DEDUPE its event stands on the input twice; a rewind here reads both."""
    stage = Reordering()
    stage.give(an_opening("m"))
    stage.give(an_opening("m"), mark="dedupe-replay")
    stage.desk.offset = -1

    stage.give(an_opening("m"), an_opening("m"), mark="reorder-replay")

    assert marks(stage) == [None, "dedupe-replay", "reorder-replay"]


def test_copy_of_another_event_does_not_stand_in_for_the_winner() -> None:
    """A rewind tells the winner from its own record, wherever duplicates stand."""
    stage = Reordering()
    stage.give(an_opening("m"), another(an_opening("m")))
    stage.desk.offset = -1

    stage.give(an_opening("m"), another(an_opening("m")), mark="replay-1")

    assert marks(stage) == [None, "replay-1"]


def test_winner_read_from_the_later_record_alone_is_told() -> None:
    """A rewind that starts after the first record must not miss the mail."""
    stage = Reordering()
    stage.give(an_opening("m"), an_opening("m"))
    stage.desk.offset = 0

    stage.give(an_opening("m"), mark="replay-1")

    assert marks(stage) == [None, "replay-1"]


@pytest.mark.parametrize(("newest_ms", "late_by_ms"), [(9, 9), (None, 0)])
def test_replayed_mail_of_another_thread_is_moved_and_late(
    newest_ms: int | None, late_by_ms: int
) -> None:
    """A better reading of threads may move a mail; it then says so, and keeps its place."""
    stage = Reordering()
    stage.give(an_opening("m"))
    if newest_ms is not None:
        stage.give(an_opening("other", at_ms=newest_ms, thread_key=ThreadKey("u")))
    moved = an_opening("m", thread_key=ThreadKey("u"))

    stage.give(moved, mark="replay-1")

    assert stage.ordered[-1] == OrderedEvent(
        event=moved,
        position=stage.ordered[0].position,
        released="late",
        late_by_ms=late_by_ms,
        is_moved=True,
    )


def test_received_mail_takes_over_an_id_that_only_a_fact_told_of() -> None:
    """A bounce carries the id of the mail it is about, and must not swallow it."""
    stage = Reordering()

    stage.give(a_fact(Kind.BOUNCED, "m"), an_opening("m"))

    assert [each.released for each in stage.ordered] == ["fact", "opening"]
    assert stage.duplicates == []
