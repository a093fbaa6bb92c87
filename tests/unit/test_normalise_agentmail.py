from typing import Any

import pytest
from msgspec.structs import asdict

from schemas.codec import to_json
from schemas.events import THREAD_EVENT, Attachment, Kind, ThreadEvent, Verdicts
from schemas.keys import InboxId, MessageId, ThreadKey, derived_message_id
from tests.inbound import INTAKE, read, read_mail
from tests.payloads import INBOX, a_body, a_mail_body, a_message

NOW_NS = INTAKE.received_at_ms * 1_000_000
MAIL_KINDS = {
    "message.received": Kind.RECEIVED,
    "message.received.spam": Kind.RECEIVED_SPAM,
    "message.received.blocked": Kind.RECEIVED_BLOCKED,
    "message.received.unauthenticated": Kind.RECEIVED_UNAUTHENTICATED,
}


WHOLE: dict[str, Any] = {
    "labels": ["received", "unread"],
    "reply_to": ["jane@home.example"],
    "cc": ["c@x.example"],
    "html": "<p>Hello</p>",
    "attachments": [
        {"attachment_id": "att_1", "filename": "a.pdf", "size": 10, "content_type": "x/y"}
    ],
    "in_reply_to": "<m0@x.example>",
    "references": ["<r@x.example>", "<m0@x.example>"],
    "headers": {"Auto-Submitted": "no"},
    "size": 1_234,
}


def test_a_whole_mail_is_lifted_whole() -> None:
    """Every field has one place, so that no later stage reads a provider's payload."""
    event = read_mail(**WHOLE)

    assert event == ThreadEvent(
        **INTAKE.fields(),
        kind=Kind.RECEIVED,
        inbox_id=InboxId(INBOX),
        occurred_at_ns=NOW_NS,
        thread_key=ThreadKey("thd_1"),
        message_id=MessageId("m1@customer.example"),
        provider_message_id="<m1@customer.example>",
        provider_thread_id="thd_1",
        parents=(MessageId("m0@x.example"), MessageId("r@x.example")),
        sender="Jane Roe <jane@customer.example>",
        reply_to=("jane@home.example",),
        recipient=INBOX,
        to=(INBOX,),
        cc=("c@x.example",),
        subject="Question",
        text="Hello",
        html="<p>Hello</p>",
        signals={"auto-submitted": ("no",)},
        labels=("received", "unread"),
        verdicts=Verdicts(spam="pass"),
        attachments=(
            Attachment(filename="a.pdf", content_type="x/y", size_bytes=10, attachment_id="att_1"),
        ),
        content_hash=event.content_hash,
    )
    assert THREAD_EVENT.decode(to_json(event)) == event


def test_a_mail_needs_its_type_and_inbox_only() -> None:
    """Documentation and deliveries differ; a mail with less is still a customer's mail."""
    event = read(a_body(message={"inbox_id": INBOX}))

    derived = derived_message_id(INTAKE.event_key)
    assert event == ThreadEvent(
        **INTAKE.fields(),
        kind=Kind.RECEIVED,
        inbox_id=InboxId(INBOX),
        occurred_at_ns=NOW_NS,
        time_mark="missing",
        thread_key=ThreadKey(f"root:{derived}"),
        message_id=derived,
        is_derived_id=True,
        recipient=INBOX,
        verdicts=Verdicts(spam="pass"),
        content_hash=event.content_hash,
    )


@pytest.mark.parametrize("odd", [None, 5, True, "", [], {}, [None], [[]], {"a": 1}, 1e3])
def test_any_field_may_have_another_shape(odd: object) -> None:
    """A field that cannot be read is missing; it never costs the mail."""
    members = dict.fromkeys(a_message(), odd) | {"inbox_id": INBOX, "from_": odd, "size": odd}

    event = read(a_body(message={**members, "reply_to": odd, "attachments": odd}, thread=odd))

    assert (event.kind, event.inbox_id) == (Kind.RECEIVED, INBOX)
    assert event.is_derived_id


@pytest.mark.parametrize(("event_type", "kind"), MAIL_KINDS.items())
def test_each_type_of_mail_has_its_own_kind(event_type: str, kind: str) -> None:
    """Spam, blocked and unauthenticated mail comes under types of its own and is not answered."""
    assert read(a_body(event_type)).kind == kind


@pytest.mark.parametrize(
    "sender",
    [
        {"from": [{"name": "Jane Roe", "email": "jane@customer.example"}]},
        {"from": {"name": "Jane Roe", "email": "jane@customer.example"}},
        {"from_": {"name": "Jane Roe", "email": "jane@customer.example"}},
        {"from": "", "from_": ['"Jane Roe" <jane@customer.example>']},
    ],
)
def test_the_sender_is_found_in_every_published_shape(sender: dict[str, Any]) -> None:
    """One page shows text, another objects under another name."""
    event = read_mail(**{"from": None, **sender})

    assert event.sender == '"Jane Roe" <jane@customer.example>'


def test_several_senders_stay_several() -> None:
    """Whether a mail of two authors can be answered is for a rule to say."""
    assert (
        read_mail(**{"from": ["a@x.example", "b@x.example"]}).sender == "a@x.example, b@x.example"
    )


@pytest.mark.parametrize(
    ("event_type", "labels", "spam"),
    [
        ("message.received", ["received"], "pass"),
        ("message.received", ["received", "spam"], "fail"),
        ("message.received.spam", [], "fail"),
        ("message.received.blocked", [], "unknown"),
        ("message.received.unauthenticated", ["unauthenticated"], "unknown"),
    ],
)
def test_verdicts_are_what_the_contract_says_and_no_more(
    event_type: str, labels: list[str], spam: str
) -> None:
    """Nothing in it says that a mail passed SPF, DKIM or DMARC."""
    event = read(a_body(event_type, message=a_message(labels=labels)))

    assert event.verdicts == Verdicts(spam=spam)


def test_attachments_are_described_and_oddities_skipped() -> None:
    """Their bytes are never in a webhook, and never opened."""
    event = read_mail(attachments=[{"filename": 5, "size": "10"}, None, "a.pdf"])

    assert event.attachments == (Attachment(),)


def test_content_that_changed_has_another_hash() -> None:
    """An edited mail under its old id is shown as one whose content differs."""
    hashes = {
        read_mail(**each).content_hash
        for each in ({}, {"text": "x"}, {"html": "x"}, {"subject": "x"}, {"from": "x@y.example"})
    }

    assert len(hashes) == 5
    assert read_mail(labels=["unread"]).content_hash == read_mail().content_hash


def test_half_a_surrogate_pair_or_an_odd_number_costs_no_mail() -> None:
    """They are legal JSON, were signed, and the door took them."""
    body = a_mail_body(text="cut @@", size="@@").replace(b"cut @@", rb"cut \ud83d")

    event = read(body.replace(b'"@@"', b"1E400"))

    assert (event.text, event.message_id) == ("cut \ufffd", "m1@customer.example")


def test_a_nul_in_the_text_is_kept() -> None:
    """It is legal JSON; what leaves here is another matter."""
    assert read_mail(text="a\0b").text == "a\0b"


def test_unknown_members_are_skipped_unread() -> None:
    """New members and numbers past any range are no concern of ours."""
    body = a_mail_body(size=1_234).replace(b'"size": 1234', b'"size": 9007199254740993, "x": 1E400')

    assert asdict(read(body)) == asdict(read_mail(size=1_234))
