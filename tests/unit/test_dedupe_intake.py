import pytest

from processors.core.dedupe import Dedupe
from processors.core.intake import MAX_KEY_BYTES, Intake, Sources, event_key_of
from processors.core.turn import Record
from schemas.errors import Refused
from schemas.events import Where
from schemas.headers import PROVIDER, RECEIVED_AT, Headers
from schemas.keys import EventId, EventKey, SourceName
from tests.inbound import DIRECTORY, HORIZON_MS, Inbound, read_mail
from tests.payloads import a_body, a_mail_body
from tests.turns import NOW_MS

SOURCES = Sources(DIRECTORY)


def intake_of(record: Record) -> Intake:
    """What the record says of itself."""
    return SOURCES.intake_of(record, event_key_of(record))


def a_record(key: bytes | None = b"support/evt_1", *, headers: Headers = ()) -> Record:
    """A record at the door with this key and these headers."""
    return Record("inbound-events", 3, 7, key, b"{}", headers, NOW_MS)


def test_key_and_headers_say_where_a_body_came_from() -> None:
    """The door wrote them from signed bytes; nothing else is asked."""
    headers = ((RECEIVED_AT, b"1767607199999"), (PROVIDER, b"agentmail"))

    assert intake_of(a_record(headers=headers)) == Intake(
        event_key=EventKey("support/evt_1"),
        event_id=EventId("evt_1"),
        source=SourceName("support"),
        provider="agentmail",
        workspace="main",
        received_at_ms=1_767_607_199_999,
        origin=Where(topic="inbound-events", partition=3, offset=7),
    )


@pytest.mark.parametrize("said", [None, b"", b"soon", b"-5", b"1.5", "٣".encode(), b"\xff"])
def test_the_brokers_time_stands_in_for_a_receipt_time_that_nobody_said(said: bytes | None) -> None:
    """A record put in by hand has no such header, and still has a place."""
    intake = intake_of(a_record(headers=((RECEIVED_AT, said),)))

    assert (intake.received_at_ms, intake.provider) == (NOW_MS, "agentmail")


def test_an_event_id_may_hold_slashes() -> None:
    """The first slash ends the source."""
    assert intake_of(a_record(b"support/a/b")).event_id == "a/b"


def test_what_was_read_back_belongs_to_the_source_that_announced_it() -> None:
    """Its mail is judged like any other of that source, but is complete."""
    intake = intake_of(a_record(b"fetch:support/h1"))

    assert (intake.source, intake.event_key, intake.is_read_back) == (
        "support",
        "fetch:support/h1",
        True,
    )


@pytest.mark.parametrize(
    "key",
    [
        None,
        b"",
        b"\xff/evt_1",
        b"nobody/evt_1",
        b"support",
        b"support/",
        b"x" * (MAX_KEY_BYTES + 1),
    ],
    ids=["none", "empty", "not utf-8", "unknown source", "no slash", "no event id", "too long"],
)
def test_a_record_that_no_source_of_ours_sent_is_refused(key: bytes | None) -> None:
    """It is set aside with its reason, and can be brought again once the source is configured."""
    with pytest.raises(Refused):
        intake_of(a_record(key))


def test_a_source_speaks_for_the_inboxes_of_its_workspace_only() -> None:
    """The door refuses others; so does the room behind it, whatever found a way past the door."""
    with pytest.raises(Refused, match="wrong-workspace"):
        Inbound().bring(a_mail_body(inbox_id="theirs@inbox.example"))


def test_an_event_of_no_inbox_needs_no_permission() -> None:
    """It can touch nobody's thread."""
    assert len(Inbound().bring(a_body("domain.verified"))) == 1


def test_an_event_cannot_claim_to_be_of_no_inbox_at_another_source() -> None:
    """The name under which such events stand belongs to their own source."""
    with pytest.raises(Refused, match="wrong-workspace"):
        Inbound().bring(a_mail_body(inbox_id="source:other"))


def test_a_provider_without_a_reader_is_refused() -> None:
    """Its bodies stay in the log and can be brought again later."""
    inbound = Inbound()
    inbound.dedupe = Dedupe(SOURCES, {}, horizon_ms=HORIZON_MS)

    with pytest.raises(Refused, match="agentmail"):
        inbound.bring(a_mail_body())


def test_an_erasure_needs_no_configured_source() -> None:
    """Content can be erased after its source was taken out of the configuration."""
    inbound = Inbound()
    record = inbound.record(None)._replace(key=b"gone/evt_1")

    outputs = inbound.take(record)

    assert [each.key for each in outputs] == ["gone/evt_1"]


def test_the_provider_in_the_header_wins() -> None:
    """It is what the body was signed as when it came."""
    intake = intake_of(a_record(headers=((PROVIDER, b"resend"),)))

    assert intake.provider == "resend"
    assert read_mail().provider == "agentmail"
