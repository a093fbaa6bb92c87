from typing import Any

import pytest

from processors.core.thread_log import LOG
from schemas.commands import AskReply, AuditEntry, Decision, Said
from schemas.directory import Account, Directory, Inbox
from schemas.events import Kind, Position
from schemas.headers import header
from schemas.keys import InboxId, MessageId, ThreadKey, derived_message_id, reply_key
from schemas.topics import Topic
from tests.deciding import (
    BILLING,
    DAY_MS,
    HOUR_MS,
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


def test_question_is_decided_audited_and_asked() -> None:
    """The normal case, whole: what a person's question leaves behind."""
    deciding, mail = Deciding(), a_mail()
    position = Position(occurred_at_ns=NOW_MS * 1_000_000, tie="m@mail.customer.example")

    outputs = deciding.give(mail)

    assert decisions(outputs) == [
        Decision(
            reply_key=key_of("m"),
            inbox_id=INBOX,
            message_id=MessageId("m@mail.customer.example"),
            thread_key=ThreadKey("t"),
            event_key=mail.event_key,
            outcome="send",
            rule="route-send",
            position=position,
            decided_at_ms=NOW_MS,
        )
    ]
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
    assert orders(outputs) == [
        AskReply(
            reply_key=key_of("m"),
            inbox_id=INBOX,
            outcome="send",
            rule="route-send",
            thread_key=ThreadKey("t"),
            message_id=MessageId("m@mail.customer.example"),
            provider="agentmail",
            workspace="acme",
            account="main",
            position=position,
            event=mail,
            log=(
                Said(
                    role="customer",
                    position=position,
                    message_id=MessageId("m@mail.customer.example"),
                    sender=JANE,
                    subject="Question",
                    text="Hello",
                ),
            ),
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


def test_mail_is_decided_once() -> None:
    """A second unmarked copy is no second opinion."""
    deciding = Deciding()
    deciding.give(a_mail())

    assert deciding.give(a_mail(event_key="src/evt-again")) == []


def test_same_message_in_two_inboxes_is_two_mails() -> None:
    """One mail to two departments is owed an answer by each."""
    deciding = Deciding()

    outputs = deciding.give(a_mail(), a_mail(inbox_id=BILLING, recipient=BILLING))

    assert len({each.reply_key for each in asks(outputs)}) == 2


def test_mail_without_an_id_is_held_under_a_derived_one() -> None:
    """It cannot be threaded, so a person looks; and it still leaves one record."""
    mail = a_mail(message_id=None)

    decision = Deciding().decision(mail)

    derived = derived_message_id(mail.event_key)
    assert (decision.outcome, decision.rule) == ("hold", "derived-id")
    assert decision.reply_key == reply_key(INBOX, derived)


def test_mail_whose_id_was_derived_before_is_held() -> None:
    """The mark, not the spelling, says that an id is no id."""
    assert Deciding().rule(a_mail(is_derived_id=True)) == "derived-id"


def test_mail_without_a_thread_is_a_thread_of_its_own() -> None:
    """Two of them share no cap and no log."""
    deciding = Deciding(cap_thread_hour=1)

    first = deciding.decision(a_mail("a", thread_key=None))
    second = deciding.decision(a_mail("b", thread_key=None))

    assert [first.thread_key, second.thread_key] == [
        ThreadKey(first.reply_key),
        ThreadKey(second.reply_key),
    ]
    assert (first.outcome, second.outcome) == ("send", "send")


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


def test_quarantined_mail_never_becomes_context() -> None:
    """Words meant to do harm must not reach a writer with the next question."""
    deciding = Deciding()
    deciding.give(a_mail("spam", labels=("spam",), text="buy"))

    (ask,) = asks(deciding.give(a_mail("m", at_ms=1000)))

    assert [said.text for said in ask.log] == ["Hello"]


def test_refused_mail_is_context_of_the_next_question() -> None:
    """Loop rules refuse the reply only: the mail is kept and shown like any other."""
    deciding = Deciding()
    deciding.give(a_mail("away", signals={"auto-submitted": ("auto-replied",)}, text="I am away"))

    (ask,) = asks(deciding.give(a_mail("m", at_ms=1000)))

    assert [said.text for said in ask.log] == ["I am away", "Hello"]


def test_late_message_is_marked_in_the_log() -> None:
    """A writer may want to know that a line was not there when we last answered."""
    deciding = Deciding()
    deciding.give(a_mail("new", at_ms=1000))

    (ask,) = asks(deciding.give(ordered(a_mail("late"), late_by_ms=1000)))

    assert [(said.message_id, said.is_late) for said in ask.log] == [
        ("late@mail.customer.example", True),
        ("new@mail.customer.example", False),
    ]


def test_log_that_lost_its_beginning_says_so() -> None:
    """A writer should know that it does not see everything."""
    deciding = Deciding(cap_thread_hour=1000, cap_correspondent_day=1000)

    outputs = deciding.give(*(a_mail(f"m{number}", at_ms=number) for number in range(65)))

    assert [ask.is_log_truncated for ask in asks(outputs)[-2:]] == [False, True]


def test_log_rows_are_one_a_message() -> None:
    """Copies cost nothing."""
    deciding = Deciding()

    deciding.give(a_mail("a"), a_mail("b"), a_mail("a"))

    assert len(list(deciding.desk.turn().rows(LOG))) == 2


CAPS = {
    "thread": ({"cap_thread_hour": 2}, {}, "cap-thread", HOUR_MS),
    "correspondent": (
        {"cap_correspondent_day": 2},
        {"spread": "thread"},
        "cap-correspondent",
        DAY_MS,
    ),
    "domain": ({"cap_domain_day": 2}, {"spread": "sender"}, "cap-domain", DAY_MS),
    "inbox": ({"cap_inbox_hour": 2}, {"spread": "domain"}, "cap-inbox", HOUR_MS),
}


@pytest.mark.parametrize(("settings", "how", "rule", "window_ms"), CAPS.values(), ids=CAPS.keys())
def test_cap_stores_what_is_above_it_until_its_window_has_passed(
    settings: dict[str, Any], how: dict[str, str], rule: str, window_ms: int
) -> None:
    """The last line of defence against loops, each cap on its own."""
    deciding = Deciding(**settings)
    spread = how.get("spread")

    def rule_of(number: int) -> str:
        thread = f"t{number}" if spread else "t"
        sender = {"sender": f"{chr(97 + number)}@customer.example"}.get(spread or "", JANE)
        if spread == "domain":
            sender = f"jane@c{number}.example"
        return deciding.rule(a_mail(f"m{number}", at_ms=number, thread_key=thread, sender=sender))

    found = [rule_of(number) for number in range(3)]
    deciding.wait(window_ms + window_ms // 12)

    assert found == ["route-send", "route-send", rule]
    assert rule_of(4) == "route-send"


def test_reply_to_counts_as_a_correspondent_too() -> None:
    """Many senders with one address for answers would flood that address."""
    deciding = Deciding(cap_correspondent_day=1)
    victim: dict[str, Any] = {"reply_to": ("victim@customer.example",)}

    found = [
        deciding.rule(a_mail("a", sender="a@x.example", thread_key="a", **victim)),
        deciding.rule(a_mail("b", sender="b@y.example", thread_key="b", **victim)),
    ]

    assert found == ["route-send", "cap-correspondent"]


def test_caps_of_one_inbox_do_not_bind_another() -> None:
    """One tenant's busy inbox must not silence another's."""
    deciding = Deciding(cap_thread_hour=1, cap_inbox_hour=1, cap_correspondent_day=1)
    deciding.give(a_mail())

    assert deciding.rule(a_mail(inbox_id=BILLING, recipient=BILLING)) == "route-send"


def test_refused_and_repeated_mail_counts_nothing() -> None:
    """A flood of out-of-office answers must not use up a customer's replies."""
    deciding = Deciding(cap_thread_hour=1)
    away: dict[str, Any] = {"signals": {"auto-submitted": ("auto-replied",)}}
    deciding.give(*(a_mail(f"away{number}", **away) for number in range(5)))

    found = [deciding.rule(a_mail("a", at_ms=1))]
    deciding.give(a_mail("a", at_ms=1))
    found.append(deciding.rule(a_mail("b", at_ms=2)))

    assert found == ["route-send", "cap-thread"]


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
