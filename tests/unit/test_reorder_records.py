import msgspec
import pytest

from processors.core.reorder import keys_of, on_record
from processors.core.reorder_rows import IDENTITIES, THREADS
from processors.core.turn import MAX_VALUE_BYTES, Output
from schemas.codec import to_json
from schemas.errors import DecodeError, Refused, TooLarge
from schemas.events import Kind, OrderedEvent, Position
from schemas.keys import MessageId
from schemas.topics import Topic
from tests.reordering import INBOX, Reordering, a_fact, a_mail, an_answer, an_opening
from tests.turns import NOW_MS


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
