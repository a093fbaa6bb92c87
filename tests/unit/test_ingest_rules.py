"""Where the providers beside AgentMail say what: tests/unit/test_ingest_keys.py has the rest."""

import json
from typing import Any
from urllib.parse import urlencode

import pytest

from ingest.answers import Reason, TurnedAway
from ingest.forms import JSON, MULTIPART, URLENCODED, Kind
from ingest.keys import Named, Speaker, named
from ingest.rules import RULES
from ingest.signatures import SCHEMES
from processors.dedupe import READERS
from schemas import sources
from schemas.addresses import Inboxes
from schemas.keys import SourceName
from tests.amazon import Amazon, ses_mail
from tests.senders import INBOX, mailgun_fields, multipart, postmark_mail, sendgrid_fields

BILLING = "billing@inbox.example"
INBOXES = Inboxes({INBOX, BILLING, "mbx_1"})
PARTS = Kind(MULTIPART, b"xYz")
FORM = Kind(URLENCODED)
RAW_MAIL = "Message-ID: <m1@y.example>\r\n\r\nHi"
TYPE_TWICE = '{"notificationType":"Received","notificationType":"x"}'


def read(
    provider: str, body: bytes, kind: Kind = JSON, *, delivery_id: str = "", source: str = "s"
) -> Named | str:
    """What the body names, or the reason why it names nothing."""
    speaker = Speaker(source=SourceName(source), rules=RULES[provider], inboxes=INBOXES)
    try:
        return named(body, speaker, kind=kind, delivery_id=delivery_id)
    except TurnedAway as error:
        return str(error.reason)


def told(provider: str, body: bytes, kind: Kind = JSON, **given: Any) -> tuple[str, str, Any]:
    """Type, id and inbox that the body names."""
    found = read(provider, body, kind, **given)
    assert isinstance(found, Named), found
    return found.event_type, found.event_id, found.inbox_id


def resend(event_type: str = "email.received", **data: Any) -> bytes:
    """An event of Resend."""
    mail = {
        "email_id": "e1",
        "from": "Ann <ann@y.example>",
        "to": [INBOX],
        "created_at": "2026-01-05T10:00:00Z",
    }
    return json.dumps({"type": event_type, "created_at": "x", "data": mail | data}).encode()


def bird(event_type: str = "email.received", **data: Any) -> bytes:
    """An event of Bird."""
    mail = {"inbound_message_id": "rem_1", "from": "ann@y.example", "to": [INBOX]}
    return json.dumps({"type": event_type, "timestamp": "x", "data": mail | data}).encode()


def sns_body(message: str, **changes: Any) -> bytes:
    """A message of SNS."""
    return json.dumps(Amazon().says(Message=message, **changes)).encode()


def sendgrid_body(**changes: str | None) -> bytes:
    """A mail of SendGrid."""
    return multipart(sendgrid_fields(**changes))


def test_tables_of_providers_and_schemes_are_complete() -> None:
    """A source that the file allows must open, and one that it does not must not."""
    assert set(RULES) == set(sources.PROVIDERS)
    assert set(SCHEMES) == set(sources.SCHEMES)
    assert {each for schemes in sources.PROVIDERS.values() for each in schemes} == set(SCHEMES)
    assert set(sources.READ) == set(READERS)


@pytest.mark.parametrize(
    ("provider", "body"), [("resend", resend()), ("bird", bird()), ("bird", bird("domain.x"))]
)
def test_signed_id_is_the_events_where_the_body_has_none(provider: str, body: bytes) -> None:
    """It is the same over all attempts, and the signature covers it."""
    assert told(provider, body, delivery_id="msg_1")[1] == "msg_1"


@pytest.mark.parametrize(
    ("provider", "body", "kind"),
    [
        ("resend", resend(), JSON),
        ("bird", bird(), JSON),
        ("sendgrid", sendgrid_body(), PARTS),
        (
            "sendgrid",
            sendgrid_body(headers=None, email=RAW_MAIL),
            PARTS,
        ),
    ],
)
def test_event_without_any_id_is_named_by_what_it_says_of_itself(
    provider: str, body: bytes, kind: Kind
) -> None:
    """The same event again is the same, and it is no text that a sender chose."""
    _, event_id, inbox_id = told(provider, body, kind)

    assert told(provider, body, kind)[1] == event_id
    assert (len(event_id), inbox_id) == (64, INBOX)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (resend(), resend(email_id="e2")),
        (resend(), resend(to=[BILLING])),
        (resend(to=[INBOX, BILLING]), resend(to=[INBOX], received_for=[BILLING])),
        (resend(), resend(**{"from": "bob@y.example"})),
        (resend(), resend(created_at="2026-01-05T10:00:01Z")),
        (resend(email_id=None, subject="a"), resend(email_id=None, subject="b")),
        (resend("email.delivered", a=1), resend("email.delivered", a=2)),
    ],
    ids=["message", "recipient", "recipients", "sender", "time", "no message", "no mail"],
)
def test_two_events_never_share_a_derived_id(one: bytes, other: bytes) -> None:
    """The second of them would be lost as a repeat."""
    assert told("resend", one)[1] != told("resend", other)[1]


def test_retry_in_another_shape_keeps_a_derived_id() -> None:
    """A boundary is drawn anew for each attempt."""
    other = multipart(sendgrid_fields(), boundary="other", file=b"x")

    assert told("sendgrid", sendgrid_body(), PARTS) == told(
        "sendgrid", other, Kind(MULTIPART, b"other")
    )


def test_same_event_at_two_sources_is_two_events() -> None:
    """A derived id is a source's own, like any other."""
    keys = {
        found.key
        for source in ("s", "t")
        if isinstance(found := read("resend", resend(), source=source), Named)
    }

    assert len(keys) == 2


@pytest.mark.parametrize(
    ("provider", "body", "kind", "expected"),
    [
        ("agentdraft", b'{"type":"booking.made","id":"7"}', JSON, ("booking.made", "7", None)),
        ("postmark", postmark_mail(MessageID="p1"), JSON, ("Inbound", "p1", INBOX)),
        (
            "mailgun",
            urlencode(mailgun_fields()).encode(),
            FORM,
            ("route", "t" * 50, INBOX),
        ),
        ("mailgun", multipart(mailgun_fields()), PARTS, ("route", "t" * 50, INBOX)),
        (
            "mailgun",
            b'{"signature":{"token":"t1"},"event-data":{"event":"failed"}}',
            JSON,
            ("failed", "t1", None),
        ),
        ("ses", sns_body(ses_mail(), MessageId="n1"), JSON, ("Received", "n1", INBOX)),
        ("ses", sns_body(ses_mail(kind="Bounce"), MessageId="n1"), JSON, ("Bounce", "n1", None)),
        ("ses", sns_body("Hello", MessageId="n1"), JSON, ("Notification", "n1", None)),
        ("ses", sns_body("{not json", MessageId="n1"), JSON, ("Notification", "n1", None)),
        ("bird", bird("email_mailbox.message_received", to=None, mailbox_id="mbx_1"), JSON, None),
    ],
)
def test_each_provider_names_type_id_and_inbox_in_its_own_place(
    provider: str, body: bytes, kind: Kind, expected: tuple[str, str, str | None] | None
) -> None:
    """Each of them is data, and none of them is code."""
    found = told(provider, body, kind, delivery_id="d1")

    assert found == (expected or ("email_mailbox.message_received", "d1", "mbx_1"))


@pytest.mark.parametrize(
    ("provider", "body", "kind", "reason"),
    [
        ("agentdraft", b'{"type":"x"}', JSON, Reason.NO_EVENT_ID),
        ("agentdraft", b'{"id":"1"}', JSON, Reason.NO_TYPE),
        ("postmark", postmark_mail(MessageID=" "), JSON, Reason.NO_EVENT_ID),
        ("postmark", postmark_mail(RecordType=7), JSON, Reason.NO_TYPE),
        ("postmark", postmark_mail(OriginalRecipient=None), JSON, Reason.NO_INBOX),
        ("postmark", postmark_mail(OriginalRecipient="a@b.example"), JSON, Reason.WRONG_WORKSPACE),
        ("postmark", postmark_mail(MessageID="x" * 257), JSON, Reason.NO_EVENT_ID),
        ("resend", resend(to="nobody@b.example"), JSON, Reason.WRONG_WORKSPACE),
        ("resend", resend(to=[7, None, {}]), JSON, Reason.NO_INBOX),
        ("sendgrid", sendgrid_body(envelope=None), PARTS, Reason.NO_INBOX),
        ("sendgrid", sendgrid_body(envelope="{"), PARTS, Reason.NO_INBOX),
        ("sendgrid", sendgrid_body(envelope='{"to":[],"to":[]}'), PARTS, Reason.TWICE),
        ("sendgrid", sendgrid_body(envelope="[" * 65 + "]" * 65), PARTS, Reason.TOO_DEEP),
        ("sendgrid", b"", PARTS, Reason.NOT_FORM),
        ("mailgun", b"recipient=a%40b.example&token=t", FORM, Reason.WRONG_WORKSPACE),
        ("mailgun", b"recipient=support%40inbox.example", FORM, Reason.NO_EVENT_ID),
        (
            "mailgun",
            b"recipient=support%40inbox.example&token=%ff",
            FORM,
            Reason.NO_EVENT_ID,
        ),
        ("ses", sns_body(ses_mail("a@b.example")), JSON, Reason.WRONG_WORKSPACE),
        ("ses", sns_body('{"notificationType":"Received"}'), JSON, Reason.NO_INBOX),
        (
            "ses",
            sns_body(TYPE_TWICE),
            JSON,
            Reason.TWICE,
        ),
    ],
)
def test_body_that_names_no_event_of_ours_is_refused_with_its_reason(
    provider: str, body: bytes, kind: Kind, reason: str
) -> None:
    """Signed and well-formed is not enough to be a mail in an inbox of ours."""
    assert read(provider, body, kind) == reason


def test_facts_of_postmark_about_one_mail_are_several_events() -> None:
    """They name the mail of ours, not themselves, and one of them must not hide the next."""
    delivered, opened = (
        told("postmark", json.dumps({"RecordType": kind, "MessageID": "p1"}).encode())
        for kind in ("Delivery", "Open")
    )

    assert delivered[1] != opened[1]
    assert (delivered[2], opened[2]) == (None, None)


@pytest.mark.parametrize(
    ("address", "inbox"),
    [
        (INBOX, INBOX),
        ("Support@Inbox.EXAMPLE", INBOX),
        ("support+thread-7@inbox.example", INBOX),
        ("SUPPORT+a+b@INBOX.example", INBOX),
        (f"<{INBOX}>", INBOX),
        ("mbx_1", "mbx_1"),
    ],
)
def test_address_leads_to_its_inbox(address: str, inbox: str) -> None:
    """Letter case and a tag behind a plus are the sender's taste."""
    assert told("postmark", postmark_mail(OriginalRecipient=address))[2] == inbox


@pytest.mark.parametrize(
    "address",
    ["support@other.example", "+support@inbox.example", "support", "supporter@inbox.example", "@"],
)
def test_other_address_is_not_ours(address: str) -> None:
    """A mail in the wrong inbox is answered by the wrong one."""
    assert read("postmark", postmark_mail(OriginalRecipient=address)) == Reason.WRONG_WORKSPACE


def test_tag_that_is_an_inbox_of_its_own_counts_first() -> None:
    """A name that is configured means itself."""
    inboxes = Inboxes({"a@x.example", "a+b@x.example"})

    assert (inboxes.at("A+B@x.example"), inboxes.at("a+c@x.example")) == (
        "a+b@x.example",
        "a@x.example",
    )


def test_mail_to_strangers_and_to_us_is_ours() -> None:
    """Others stand in To, and we may stand in Bcc alone."""
    body = resend(to=["press@newspaper.example"], cc=[], bcc=[INBOX])

    assert told("resend", body)[2] == INBOX


def test_mail_to_two_inboxes_of_ours_names_neither() -> None:
    """One record, two inboxes: whoever reads the body deals it out."""
    both = ses_mail(INBOX, BILLING)

    assert told("ses", sns_body(both))[2] is None
