import json
from typing import Any

import pytest

from ingest.answers import Reason, TurnedAway
from ingest.keys import Named, Speaker, named
from ingest.rules import AGENTMAIL
from schemas.addresses import Inboxes
from schemas.bodies import BYTE_ORDER_MARK
from schemas.keys import EventId, EventKey, InboxId, SourceName
from tests.payloads import INBOX, a_message, an_event

SPEAKER = Speaker(source=SourceName("agentmail"), rules=AGENTMAIL, inboxes=Inboxes({INBOX}))


def read(body: bytes) -> Named | str:
    """What the body names, or the reason why it names nothing."""
    try:
        return named(body, SPEAKER)
    except TurnedAway as error:
        return str(error.reason)


def a_fact(event_type: str, **members: Any) -> bytes:
    """An event of another type, with these members."""
    return json.dumps({"event_type": event_type, "event_id": "evt_1", **members}).encode()


def inbox_in(body: bytes) -> str | None:
    """The inbox that the body names, or the reason why it names nothing."""
    found = read(body)
    return found if isinstance(found, str) else found.inbox_id


def test_received_mail_names_its_event_and_its_inbox() -> None:
    """Everything downstream goes by these three."""
    assert read(an_event()) == Named(
        key=EventKey("agentmail/evt_1"),
        event_id=EventId("evt_1"),
        event_type="message.received",
        inbox_id=InboxId(INBOX),
    )


@pytest.mark.parametrize("given", [None, "", "  ", "<>", 7, ["evt_1"], {}, "x" * 257, "é" * 129])
def test_event_without_a_usable_id_is_refused(given: object) -> None:
    """Without an id a repeat could not be told from a second event."""
    assert read(an_event(event_id=given)) == Reason.NO_EVENT_ID


def test_id_is_the_same_with_outer_space_or_brackets() -> None:
    """The comparison form of ids is one everywhere."""
    assert read(an_event(event_id=" <evt_1>\n")) == read(an_event())


@pytest.mark.parametrize("given", [None, "", " \t", 7, ["message.received"], "x" * 257])
def test_event_without_a_usable_type_is_refused(given: object) -> None:
    """What it is decides whether it may ever be answered."""
    assert read(an_event(event_type=given)) == Reason.NO_TYPE


@pytest.mark.parametrize("event_type", sorted(AGENTMAIL.mail_types))
@pytest.mark.parametrize("inbox", [None, "", " ", 7, ["x"]])
def test_mail_without_a_usable_inbox_is_refused(event_type: str, inbox: object) -> None:
    """A mail in no inbox belongs to nobody."""
    body = an_event(event_type=event_type, message=a_message(inbox_id=inbox))

    assert read(body) == Reason.NO_INBOX


@pytest.mark.parametrize("message", [None, [], "x", 1, {}])
def test_mail_that_is_no_object_is_refused(message: object) -> None:
    """Signed and well-formed is not enough to be a mail."""
    assert read(an_event(message=message)) == Reason.NO_INBOX


@pytest.mark.parametrize(
    ("event_type", "holder"),
    [
        ("message.received.spam", "message"),
        ("message.received.blocked", "message"),
        ("message.received.unauthenticated", "message"),
        ("message.sent", "send"),
        ("message.delivered", "delivery"),
        ("message.bounced", "bounce"),
        ("message.complained", "complaint"),
        ("message.rejected", "reject"),
        ("message.opened", "open"),
        ("calendar.event.created", "calendar_event"),
        ("message.security.completed", "message"),
        ("something.new", "thing"),
    ],
)
def test_each_type_has_its_inbox_in_an_object_of_its_own(event_type: str, holder: str) -> None:
    """An inbox that is not this source's must not slip in through a type that is rare or new."""
    ours = a_fact(event_type, x=1, y=[], **{holder: {"inbox_id": INBOX}})
    theirs = a_fact(event_type, x=1, y=[], **{holder: {"inbox_id": "theirs@inbox.example"}})

    assert inbox_in(ours) == INBOX
    assert inbox_in(theirs) == Reason.WRONG_WORKSPACE


@pytest.mark.parametrize("event_type", ["message.bounced", "domain.verified", "something.new"])
def test_fact_without_an_inbox_is_kept(event_type: str) -> None:
    """It answers nothing, and whoever looks for it should find it."""
    assert inbox_in(a_fact(event_type, domain={"status": "verified"}, bounce=None)) is None


def test_fact_cannot_hide_an_inbox_beside_its_own_object() -> None:
    """Later stages look there too when the right object names none."""
    body = a_fact("message.sent", send={}, other={"inbox_id": "theirs@inbox.example"})

    assert read(body) == Reason.WRONG_WORKSPACE


def test_inbox_twice_in_its_object_is_refused() -> None:
    """One component would go by the first and another by the last."""
    text = an_event().replace(b'"thread_id"', b'"inbox_id":"theirs@inbox.example","thread_id"')

    assert read(text) == Reason.TWICE


def test_header_map_may_repeat_a_name() -> None:
    """Mail headers do repeat, and the mail is still a customer's mail."""
    text = an_event().replace(b'"headers":{}', b'"headers":{"Received":"a","Received":"b"}')

    assert isinstance(read(text), Named)


def test_byte_order_mark_changes_nothing() -> None:
    """RFC 8259 8.1 lets a parser ignore it: some sender's library writes one before each text."""
    body = an_event(event_id="evt_\ufffd")

    assert read(BYTE_ORDER_MARK + body) == read(body)
    assert isinstance(read(body), Named)


def test_id_with_half_a_surrogate_pair_is_refused() -> None:
    """Mended, two such ids would become one, and the second event would be lost as a repeat."""
    assert read(an_event(event_id="evt_\ud83d")) == Reason.NO_EVENT_ID


def test_text_with_half_a_surrogate_pair_is_a_mail() -> None:
    """Some sender cut a preview in the middle of an emoji."""
    assert isinstance(read(an_event(message=a_message(preview="Thanks \ud83d"))), Named)
