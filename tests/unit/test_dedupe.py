import msgspec
import pytest

from processors.core.dedupe import SEEN, SeenRow, identity_of
from schemas.codec import to_json
from schemas.errors import Refused
from schemas.events import FETCH_REQUEST, Duplicate, FetchRequest, Kind, Where
from schemas.headers import header
from schemas.keys import EventId, EventKey, InboxId, MessageId, conflict_key
from schemas.topics import Topic
from tests.inbound import (
    HORIZON_MS,
    INTAKE,
    Inbound,
    duplicates_in,
    events_in,
    read_mail,
    topics_of,
)
from tests.payloads import INBOX, a_body, a_mail_body
from tests.turns import NOW_MS

KEY = EventKey("support/evt_1")
OTHER_MAIL = a_mail_body(message_id="<other@customer.example>")


def at(offset: int) -> Where:
    """The place of a record at the door."""
    return Where(topic="inbound-events", partition=0, offset=offset)


def a_duplicate(*, offset: int, first: int = 0, reason: str = "same-event") -> Duplicate:
    """What is said of a copy of the first event that stood at this offset."""
    return Duplicate(
        event_key=KEY,
        reason=reason,
        origin=at(offset),
        stage="dedupe",
        first=at(first),
        first_at_ms=NOW_MS,
        inbox_id=InboxId(INBOX),
        message_id=MessageId("m1@customer.example"),
    )


def test_a_new_event_is_passed_on_once_in_the_common_shape() -> None:
    """It is keyed by inbox, so that every thread of an inbox is in one partition."""
    outputs = Inbound().bring(a_mail_body())

    assert [(each.topic, each.key, each.mark) for each in outputs] == [
        (Topic.THREAD_EVENTS, INBOX, None)
    ]
    assert events_in(outputs) == [read_mail()]


def test_an_event_carries_the_headers_that_readers_filter_by() -> None:
    """CloudEvents in binary mode: a reader need not parse the body to know what it is."""
    headers = Inbound().bring(a_mail_body())[0].headers

    names = ("ce_type", "ce_id", "ce_source", "ce_subject", "ce_time", "onereply-received-at-ms")
    assert [header(headers, name) for name in names] == [
        Kind.RECEIVED,
        "evt_1",
        "/sources/support",
        "m1@customer.example",
        "2026-01-05T10:00:00.000000000Z",
        str(NOW_MS),
    ]


def test_a_copy_is_dropped_and_said_to_be() -> None:
    """The provider retries whenever it missed our answer; the customer wrote once."""
    inbound = Inbound()
    inbound.bring(a_mail_body())

    outputs = inbound.bring(a_mail_body())

    assert topics_of(outputs) == [Topic.DUPLICATE_EVENTS]
    assert outputs[0].key == KEY
    assert duplicates_in(outputs) == [a_duplicate(offset=1)]


def test_a_copy_with_another_body_is_still_a_copy() -> None:
    """Some senders rebuild the body at each retry, with a fresh time in it."""
    inbound = Inbound()
    inbound.bring(a_mail_body())

    outputs = inbound.bring(a_mail_body(text="Hello again", created_at="2026-01-05T10:00:09Z"))

    assert duplicates_in(outputs) == [a_duplicate(offset=1)]


def test_equal_content_under_another_event_is_another_event() -> None:
    """Two customers may well write "Thanks!" in the same second."""
    inbound = Inbound()
    inbound.bring(a_mail_body())

    outputs = inbound.bring(a_mail_body(), event_id="evt_2")

    assert [each.event_key for each in events_in(outputs)] == ["support/evt_2"]


def test_a_key_is_forgotten_after_the_horizon_and_not_before() -> None:
    """A row that lived longer would cost room; one that lived shorter, a second reply."""
    inbound = Inbound()
    inbound.bring(a_mail_body())

    inbound.desk.now_ms = NOW_MS + HORIZON_MS
    within = inbound.bring(a_mail_body())
    inbound.desk.now_ms += 1
    after = inbound.bring(a_mail_body())

    assert (topics_of(within), topics_of(after)) == (
        [Topic.DUPLICATE_EVENTS],
        [Topic.THREAD_EVENTS],
    )


def test_the_horizon_counts_from_the_first_sight() -> None:
    """A provider that retries for ever must not keep its event alive for ever."""
    inbound = Inbound()
    inbound.bring(a_mail_body())
    inbound.desk.now_ms += HORIZON_MS - 1
    inbound.bring(a_mail_body())

    inbound.desk.now_ms += 2
    outputs = inbound.bring(a_mail_body())

    assert topics_of(outputs) == [Topic.THREAD_EVENTS]


def test_the_only_copy_read_again_is_told_again_marked() -> None:
    """An operator who rewinds wants every event once more, and to tell it from the first time."""
    inbound = Inbound()
    first = inbound.bring(a_mail_body())

    again = inbound.bring(a_mail_body(), at=0)

    assert events_in(again) == events_in(first)
    assert [each.mark for each in again] == ["replay-1"]


def test_of_several_copies_read_again_the_latest_is_told() -> None:
    """Compaction keeps the last copy only, so no other may be the one that counts."""
    inbound = Inbound()
    for _ in range(3):
        inbound.bring(a_mail_body())

    outputs = [inbound.bring(a_mail_body(), at=offset) for offset in range(3)]

    assert [topics_of(each) for each in outputs] == [
        [Topic.DUPLICATE_EVENTS],
        [Topic.DUPLICATE_EVENTS],
        [Topic.THREAD_EVENTS],
    ]


def test_a_marked_copy_of_a_forgotten_event_is_told() -> None:
    """The row went with its horizon, or the store was lost; the event is told, marked."""
    outputs = Inbound().bring(a_mail_body(), at=5)

    assert [(each.topic, each.mark) for each in outputs] == [(Topic.THREAD_EVENTS, "replay-1")]


def test_a_replay_does_not_make_a_row_younger() -> None:
    """Rows age from when they were written, so a rewind forgets nothing early or late."""
    inbound = Inbound()
    inbound.bring(a_mail_body())
    before = inbound.desk.state.rows.copy()

    inbound.desk.now_ms += 1_000
    inbound.bring(a_mail_body(), at=0)

    assert inbound.desk.state.rows == before


def test_another_message_under_a_known_key_goes_on_under_its_own() -> None:
    """Two mails under one event id is a fault of the sender's; neither mail may vanish."""
    inbound = Inbound()
    inbound.bring(a_mail_body())

    outputs = inbound.bring(OTHER_MAIL)

    own = conflict_key(KEY, InboxId(INBOX), MessageId("other@customer.example"))
    expected = read_mail(message_id="<other@customer.example>")
    assert events_in(outputs) == [
        msgspec.structs.replace(expected, event_key=own, is_conflict=True, origin=at(1))
    ]
    assert [(each.reason, each.event_key, each.message_id) for each in duplicates_in(outputs)] == [
        ("conflict", KEY, "other@customer.example")
    ]
    assert events_in(outputs)[0].event_id == EventId("evt_1")


def test_copies_of_a_conflict_are_copies() -> None:
    """It is one event from then on: told once, and once more when read again."""
    inbound = Inbound()
    inbound.bring(a_mail_body())
    inbound.bring(OTHER_MAIL)

    copy = inbound.bring(OTHER_MAIL)
    again = [
        inbound.bring(body, at=offset)
        for offset, body in enumerate([a_mail_body(), OTHER_MAIL, OTHER_MAIL])
    ]

    assert [each.reason for each in duplicates_in(copy)] == ["same-event"]
    assert [topics_of(each) for each in again] == [
        [Topic.THREAD_EVENTS],
        [Topic.DUPLICATE_EVENTS],
        [Topic.THREAD_EVENTS],
    ]


def test_one_event_id_in_three_inboxes_is_three_events() -> None:
    """The same mail in three inboxes is three messages, whatever the sender calls the event."""
    inbound = Inbound()

    outputs = [
        inbound.bring(a_mail_body(inbox_id=inbox))
        for inbox in (INBOX, "billing@inbox.example", INBOX, "billing@inbox.example")
    ]

    assert [len(events_in(each)) for each in outputs] == [1, 1, 0, 0]


def test_facts_conflict_like_mails() -> None:
    """A bounce of another mail under a known event id must not be lost."""
    inbound = Inbound()
    bounce = a_body("message.bounced", bounce={"inbox_id": INBOX})
    inbound.bring(a_mail_body())

    outputs = [inbound.bring(bounce), inbound.bring(bounce)]

    assert [[each.is_conflict for each in events_in(every)] for every in outputs] == [[True], []]


def test_an_announced_mail_is_also_asked_for() -> None:
    """REORDER keeps its place while FETCH reads it."""
    outputs = Inbound().bring(a_mail_body(text=None, size=5_000_000))

    announced = events_in(outputs)[0]
    assert [(each.topic, each.key) for each in outputs] == [
        (Topic.THREAD_EVENTS, INBOX),
        (Topic.FETCH_REQUESTS, KEY),
    ]
    assert announced.kind == Kind.ANNOUNCED
    assert FETCH_REQUEST.decode(outputs[1].value) == FetchRequest(event=announced)


@pytest.mark.parametrize("body", [b"\xff\xfe\0\1", b"", b"{", b"[]"])
def test_what_is_no_event_is_refused_and_leaves_nothing(body: bytes) -> None:
    """It is set aside as a dead letter; the next event of that key is judged as if it never was."""
    inbound = Inbound()

    with pytest.raises(Refused):
        inbound.bring(body)

    assert inbound.desk.state.rows == {}


def test_a_row_is_small() -> None:
    """A week of events at thousands a second is kept."""
    row = SeenRow(
        latest=2**40,
        written_ms=2**42,
        first_offset=2**40,
        first_at_ms=2**42,
        identity=identity_of(read_mail()),
    )

    assert len(SEEN.encode(row)) <= 60


def test_the_row_that_a_record_needs_is_known_before_it_is_read() -> None:
    """A batch reads its rows in one go."""
    inbound = Inbound()
    record = inbound.record(a_mail_body())

    inbound.take(record)

    assert set(inbound.dedupe.keys(record)) == set(inbound.desk.state.rows)


def test_events_on_the_wire_leave_out_what_is_not_said() -> None:
    """A reader sees what the provider said, not forty empty fields."""
    assert b'"cc"' not in to_json(read_mail())
    assert b'"signals":{}' in to_json(read_mail())
    assert INTAKE.is_read_back is False
