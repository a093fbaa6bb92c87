from typing import Any

import pytest

from schemas.commands import AskReply, AuditEntry, Decision, Said
from schemas.directory import Account, Directory, Inbox
from schemas.events import Kind, Position
from schemas.headers import header
from schemas.keys import InboxId, MessageId, ThreadKey
from schemas.topics import Topic
from tests.deciding import (
    DAY_MS,
    INBOX,
    JANE,
    Deciding,
    a_directory,
    a_mail,
    asks,
    audits,
    decisions,
    key_of,
    ordered,
    orders,
)
from tests.turns import NOW_MS

POSITION = Position(occurred_at_ns=NOW_MS * 1_000_000, tie="m@mail.customer.example")
NAMES: dict[str, Any] = {
    "reply_key": key_of("m"),
    "inbox_id": INBOX,
    "message_id": MessageId("m@mail.customer.example"),
    "thread_key": ThreadKey("t"),
    "outcome": "send",
    "rule": "route-send",
    "position": POSITION,
}


def test_question_is_decided_and_audited() -> None:
    """The normal case, whole: what a person's question leaves behind."""
    mail = a_mail()

    outputs = Deciding().give(mail)

    assert decisions(outputs) == [Decision(**NAMES, event_key=mail.event_key, decided_at_ms=NOW_MS)]
    assert audits(outputs) == [
        AuditEntry(
            subject=key_of("m"),
            what="decision",
            at_ms=NOW_MS,
            by="decide",
            after="send",
            why="route-send",
        )
    ]


def test_question_is_asked_with_what_was_said() -> None:
    """The normal case, whole: all that a writer and SEND need is in the ask."""
    mail = a_mail()

    outputs = Deciding().give(mail)

    line = Said(
        role="customer",
        position=POSITION,
        message_id=MessageId("m@mail.customer.example"),
        sender=JANE,
        subject="Question",
        text="Hello",
    )
    assert orders(outputs) == [
        AskReply(
            **NAMES,
            provider="agentmail",
            workspace="acme",
            account="main",
            event=mail,
            log=(line,),
        )
    ]


def test_records_are_keyed_and_named() -> None:
    """Decisions by reply, orders by inbox: the ledger lives in the inbox's partition."""
    outputs = Deciding().give(a_mail())

    found = [(each.topic, each.key, header(each.headers, "ce_type")) for each in outputs]

    assert found == [
        (Topic.DECISIONS, key_of("m"), "onereply.decision.made"),
        (Topic.AUDIT, key_of("m"), "onereply.audit.entry"),
        (Topic.REPLY_COMMANDS, INBOX, "onereply.command.ask-reply"),
    ]


def test_decisions_and_audit_hold_no_content() -> None:
    """They are kept for 400 days, and no erasure reaches them."""
    deciding = Deciding()
    words: dict[str, Any] = {"subject": "Sesame", "text": "Opensesame", "html": "<p>Opensesame</p>"}

    outputs = deciding.give(a_mail(sender="Ali <ali@cave.example>", **words))

    kept = [each for each in outputs if each.topic in (Topic.DECISIONS, Topic.AUDIT)]
    for each in kept:
        assert each.value is not None
        assert not any(word in each.value for word in (b"esame", b"ali@", b"cave.example"))


@pytest.mark.parametrize("route", ["store", "notify", "quarantine", "refuse"])
def test_route_without_reply_asks_for_none(route: str) -> None:
    """Such an inbox decides and audits, and costs no writer anything."""
    deciding = Deciding(a_directory(route))

    outputs = deciding.give(a_mail())

    assert [each.outcome for each in decisions(outputs)] == [route]
    assert orders(outputs) == []


@pytest.mark.parametrize("route", ["send", "draft", "hold"])
def test_route_with_reply_asks_with_its_own_outcome(route: str) -> None:
    """Draft and hold are asked like a send; SEND holds them."""
    outputs = Deciding(a_directory(route)).give(a_mail())

    assert [each.outcome for each in asks(outputs)] == [route]


WITHOUT_ROUTE = {
    "unknown inbox": (a_directory(), {"inbox_id": InboxId("other@inbox.example")}),
    "inbox of another workspace": (a_directory(), {"workspace": "umbrella"}),
    "inbox without its account": (
        Directory(inboxes={INBOX: Inbox(workspace="acme", account="gone", route="send")}),
        {},
    ),
    "inbox that was never checked": (
        Directory(inboxes={INBOX: Inbox(workspace="acme", route="shout")}),
        {},
    ),
}


@pytest.mark.parametrize(("directory", "changes"), WITHOUT_ROUTE.values(), ids=WITHOUT_ROUTE.keys())
def test_inbox_without_a_route_stores(directory: Directory, changes: dict[str, Any]) -> None:
    """Sending is opted into, and one tenant's source never speaks for another's inbox."""
    outputs = Deciding(directory).give(a_mail(**changes))

    assert [(each.outcome, each.rule) for each in decisions(outputs)] == [("store", "no-route")]
    assert orders(outputs) == []


def test_account_of_the_inbox_says_which_provider_answers() -> None:
    """A reply leaves through the inbox's account, whatever announced the mail."""
    account = Account(provider="agentmail", base_url="http://127.0.0.1:1", api_key="K")
    directory = Directory(
        accounts={"main": account},
        inboxes={INBOX: Inbox(workspace="acme", account="main", route="hold")},
    )

    (ask,) = asks(Deciding(directory).give(a_mail(provider="other")))

    assert (ask.provider, ask.account) == ("agentmail", "main")


def test_payload_older_than_memory_is_stored() -> None:
    """What was answered so long ago is forgotten, so such a mail may have been."""
    deciding = Deciding()
    horizon_ms = 30 * DAY_MS

    rules = [
        deciding.rule(a_mail("old", at_ms=-horizon_ms - 1)),
        deciding.rule(a_mail("edge", at_ms=-horizon_ms, thread_key="u")),
    ]

    assert rules == ["too-old", "route-send"]


def test_late_mail_of_a_thread_that_was_asked_about_newer_is_held() -> None:
    """An answer to yesterday's question after today's answer confuses: a person decides."""
    deciding = Deciding()
    deciding.give(a_mail("new", at_ms=1000))

    decision = deciding.decision(ordered(a_mail("late"), released="late", late_by_ms=1000))

    assert (decision.outcome, decision.rule) == ("hold", "newer-asked")


def test_late_mail_of_a_thread_whose_newer_mail_was_not_asked_is_answered() -> None:
    """An out-of-office answer in between does not hold a customer's question up."""
    deciding = Deciding()
    deciding.give(a_mail("new", at_ms=1000, signals={"auto-submitted": ("auto-replied",)}))

    assert deciding.rule(ordered(a_mail("late"), late_by_ms=1000)) == "route-send"


def test_screening_provider_vouches_by_its_silence() -> None:
    """AgentMail drops what fails and labels what cannot be checked; other silence is unknown."""
    found = [
        Deciding().rule(a_mail(provider="agentmail")),
        Deciding().rule(a_mail(provider="agentmail", labels=("Unauthenticated",))),
        Deciding().rule(a_mail(provider="resend")),
    ]

    assert found == ["route-send", "unauthenticated", "unauthenticated"]


def test_mail_whose_body_was_left_out_is_held() -> None:
    """A writer that sees no text would answer blindly."""
    found = [
        Deciding().rule(a_mail(is_truncated=True, text=None)),
        Deciding().rule(a_mail(is_truncated=True, text=None, html="<p>cut</p>")),
        Deciding().rule(a_mail(text=None)),
    ]

    assert found == ["body-unknown", "route-send", "route-send"]


REPLY_TO = {
    "missing": ((), "route-send"),
    "the sender": (("jane@customer.example",), "route-send"),
    "blank ones": (("", " <> "), "route-send"),
    "somebody else": (("jane@home.example",), "route-send"),
    "one in two spellings": (("jane@home.example", "Jane <JANE@home.example>"), "route-send"),
    "two": (("a@home.example", "b@home.example"), "unclear-reply-to"),
    "a list in one": (("a@home.example, b@home.example",), "unclear-reply-to"),
    "not an address": (("nobody in particular, really",), "unclear-reply-to"),
    "one of many": (("jane@home.example",) * 6, "unclear-reply-to"),
    "an inbox of ours": ((INBOX,), "own-address"),
}


@pytest.mark.parametrize(("reply_to", "rule"), REPLY_TO.values(), ids=REPLY_TO.keys())
def test_answer_goes_to_one_person(reply_to: tuple[str, ...], rule: str) -> None:
    """A stranger's mail must not make us write to several, or to ourselves."""
    assert Deciding().rule(a_mail(reply_to=reply_to)) == rule


NOT_MAIL = [
    Kind.SENT,
    Kind.DELIVERED,
    Kind.BOUNCED,
    Kind.COMPLAINED,
    Kind.REJECTED,
    Kind.OPENED,
    Kind.ANNOUNCED,
    Kind.RECEIVED_SPAM,
    Kind.RECEIVED_BLOCKED,
    Kind.RECEIVED_UNAUTHENTICATED,
    Kind.OTHER,
    "message.future_kind",
]


@pytest.mark.parametrize("kind", NOT_MAIL)
def test_what_is_not_received_mail_is_never_decided(kind: str) -> None:
    """Only message.received is answered; the guard looks at the kind and at nothing else."""
    outputs = Deciding().give(a_mail(kind=kind))

    assert decisions(outputs) == []
    assert asks(outputs) == []


def test_deletion_is_passed_over() -> None:
    """A record without a value has nothing to decide."""
    deciding = Deciding()

    deciding.give_bytes(None)

    assert deciding.outputs == []
