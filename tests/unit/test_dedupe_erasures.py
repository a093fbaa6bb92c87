from processors.core.dedupe import ERASED_MS
from schemas.commands import AUDIT_ENTRY, AuditEntry
from schemas.keys import EventKey
from schemas.topics import Topic
from tests.inbound import Inbound, events_in, topics_of
from tests.payloads import a_mail_body
from tests.turns import NOW_MS

KEY = EventKey("support/evt_1")
OTHER_MAIL = a_mail_body(message_id="<other@customer.example>")


def test_a_deleted_event_is_forgotten_for_good() -> None:
    """An erasure must hold against the copies that a provider still sends."""
    inbound = Inbound()
    inbound.bring(a_mail_body())
    erased = inbound.bring(None)

    copy = inbound.bring(a_mail_body())

    assert topics_of(erased) == [Topic.AUDIT]
    assert AUDIT_ENTRY.decode(erased[0].value) == AuditEntry(
        subject=KEY,
        what="event erased",
        at_ms=NOW_MS,
        by="dedupe",
        before="seen",
        after="erased",
        why="its key was deleted from inbound-events",
    )
    assert [(each.topic, each.key, each.value is None) for each in copy] == [
        (Topic.DUPLICATE_EVENTS, KEY, False),
        (Topic.INBOUND_EVENTS, KEY, True),
    ]


def test_our_own_deletion_of_a_copy_is_no_news() -> None:
    """It comes back to us as a record; answering it would never end."""
    inbound = Inbound()
    for body in (a_mail_body(), None, a_mail_body()):
        inbound.bring(body)

    assert (inbound.bring(None), inbound.bring(None, at=1)) == ([], [])


def test_copies_from_before_an_erasure_stay_dropped_when_read_again() -> None:
    """They are gone once compaction has run; until then a rewind must not tell them."""
    inbound = Inbound()
    inbound.bring(a_mail_body())
    inbound.bring(None)

    outputs = inbound.bring(a_mail_body(), at=0)

    assert topics_of(outputs) == [Topic.DUPLICATE_EVENTS]


def test_the_copy_after_an_erasure_stays_dropped_when_read_again() -> None:
    """The latest copy is told again, unless it is erased."""
    inbound = Inbound()
    for body in (a_mail_body(), None, a_mail_body()):
        inbound.bring(body)

    outputs = inbound.bring(a_mail_body(), at=2)

    assert topics_of(outputs) == [Topic.DUPLICATE_EVENTS]


def test_an_erasure_may_come_before_its_event() -> None:
    """The key names the event, whether we have seen it or not."""
    inbound = Inbound()
    erased = inbound.bring(None)

    copy = inbound.bring(OTHER_MAIL)

    assert AUDIT_ENTRY.decode(erased[0].value).before == "unknown"
    assert topics_of(copy) == [Topic.DUPLICATE_EVENTS, Topic.INBOUND_EVENTS]


def test_an_erased_key_is_remembered_as_long_as_the_log_may_hold_a_copy() -> None:
    """The horizon is for retries; an erasure outlives the log's own memory."""
    inbound = Inbound()
    inbound.bring(a_mail_body())
    inbound.bring(None)

    inbound.desk.now_ms += ERASED_MS
    within = inbound.bring(a_mail_body())
    inbound.desk.now_ms += 1
    after = inbound.bring(a_mail_body())

    assert (len(events_in(within)), len(events_in(after))) == (0, 1)
