from typing import Any

import pytest

from processors.core.decide_rows import EARLY, MOST_EARLY, OWN
from processors.core.suppression import OPEN, SUPPRESSED
from processors.core.thread_log import LOG
from schemas.commands import DeliveryFact, Said, Withdraw
from schemas.events import Kind, Position, ThreadEvent
from schemas.headers import header
from schemas.keys import MessageId
from tests.deciding import (
    BILLING,
    INBOX,
    Deciding,
    a_fact,
    a_mail,
    a_reply_sent,
    asks,
    key_of,
    ordered,
    orders,
    told,
    withdrawn,
)
from tests.turns import NOW_MS

JANE = "jane@customer.example"


def a_bounce(detail: str | None = "Permanent/General", **changes: Any) -> ThreadEvent:
    """A bounce of the reply "r" to Jane."""
    words: dict[str, Any] = {"detail": detail, "recipients": (JANE,)}
    return a_fact(Kind.BOUNCED, **(words | changes))


def suppressed(deciding: Deciding) -> set[bytes]:
    """What stands in the suppression list, as row keys."""
    return {key for key, _ in deciding.desk.turn().rows(SUPPRESSED)}


def listed(*addresses: str, inbox: str = INBOX) -> set[bytes]:
    """Row keys of these addresses."""
    prefix = len(SUPPRESSED.key())
    return {SUPPRESSED.key(inbox, each)[prefix:] for each in addresses}


def test_our_reply_is_part_of_the_next_asks_log() -> None:
    """A writer that does not see our last answer gives it again."""
    deciding = Deciding()
    deciding.give(a_mail("a"), a_reply_sent("a", at_ms=1000))

    (ask,) = asks(deciding.give(a_mail("b", at_ms=2000)))

    assert [(said.role, said.text) for said in ask.log] == [
        ("customer", "Hello"),
        ("us", "Our answer"),
        ("customer", "Hello"),
    ]
    assert ask.log[1] == Said(
        role="us",
        position=Position(occurred_at_ns=(NOW_MS + 1000) * 1_000_000, tie="r@inbox.example"),
        message_id=MessageId("r@inbox.example"),
        sender=INBOX,
        text="Our answer",
    )


def test_reply_told_twice_is_one_line_of_the_log() -> None:
    """The same reply key is the same reply, wherever it is placed."""
    deciding = Deciding()
    deciding.give(a_mail("a"), a_reply_sent("a", at_ms=1000), a_reply_sent("a", at_ms=1500))

    (ask,) = asks(deciding.give(a_mail("b", at_ms=2000)))

    assert [said.role for said in ask.log] == ["customer", "us", "customer"]


def test_reply_without_a_thread_goes_to_the_thread_of_its_mail() -> None:
    """The decision knows the thread when the fact does not."""
    deciding = Deciding()
    deciding.give(a_mail("a"), a_reply_sent("a", at_ms=1000, thread_key=None))

    (ask,) = asks(deciding.give(a_mail("b", at_ms=2000)))

    assert [said.role for said in ask.log] == ["customer", "us", "customer"]


def test_reply_of_an_unknown_mail_without_a_thread_has_no_line() -> None:
    """There is no thread to write it in."""
    deciding = Deciding()

    deciding.give(a_reply_sent("never", thread_key=None))

    assert list(deciding.desk.turn().rows(LOG)) == []


def test_reply_of_an_unknown_mail_is_still_kept_in_its_thread() -> None:
    """A state that forgot the mail can still show what we said."""
    deciding = Deciding()

    deciding.give(a_reply_sent("never"))

    assert [row.role for _, row in deciding.desk.turn().rows(LOG)] == ["us"]


def test_reply_fact_without_a_key_is_passed_over() -> None:
    """Not ours, or not a fact that SEND wrote."""
    deciding = Deciding()

    deciding.give(a_reply_sent(reply_key=None))

    assert list(deciding.desk.turn().rows(OWN)) == []


@pytest.mark.parametrize("fact", [a_reply_sent(), a_fact(Kind.SENT)], ids=["reply", "sent"])
def test_our_own_message_coming_back_is_refused(fact: ThreadEvent) -> None:
    """A forwarding loop brings our own mail in; its id is ours."""
    deciding = Deciding()
    deciding.give(fact)

    assert deciding.rule(a_mail(message_id=MessageId("r@inbox.example"))) == "own-message-id"


def test_our_message_id_means_nothing_in_another_inbox() -> None:
    """State of one inbox is never found through an id that also occurs in another."""
    deciding = Deciding()
    deciding.give(a_fact(Kind.SENT))

    mail = a_mail(inbox_id=BILLING, recipient=BILLING, message_id=MessageId("r@inbox.example"))

    assert deciding.rule(mail) == "route-send"


def test_later_news_of_a_sent_mail_does_not_hide_whose_reply_it_was() -> None:
    """The provider's own "sent" may come after ours, and knows less."""
    deciding = Deciding()
    deciding.give(a_reply_sent(), a_fact(Kind.SENT))

    outputs = deciding.give(a_fact(Kind.DELIVERED))

    assert [each.reply_key for each in told(outputs)] == [key_of("m")]


def test_own_id_is_taken_from_the_providers_spelling() -> None:
    """A fact may hold only the id that the provider gave, brackets and all."""
    deciding = Deciding()
    deciding.give(a_fact(Kind.SENT, message_id=None, provider_message_id="<r@inbox.example>"))

    assert deciding.rule(a_mail(message_id=MessageId("r@inbox.example"))) == "own-message-id"


def test_sent_fact_without_an_id_is_passed_over() -> None:
    """There is nothing to recognise it by."""
    deciding = Deciding()

    deciding.give(a_fact(Kind.SENT, message_id=None), a_reply_sent(message_id=None))

    assert list(deciding.desk.turn().rows(OWN)) == []


@pytest.mark.parametrize("kind", [Kind.DELIVERED, Kind.BOUNCED, Kind.COMPLAINED, Kind.REJECTED])
def test_delivery_fact_is_told_under_the_reply_that_it_is_about(kind: str) -> None:
    """What became of a mail joins the reply by the id of the mail that was sent."""
    deciding = Deciding()
    deciding.give(a_mail(), a_reply_sent())

    outputs = deciding.give(a_fact(kind, at_ms=5000))

    assert told(outputs) == [
        DeliveryFact(
            reply_key=key_of("m"),
            inbox_id=INBOX,
            kind=kind,
            occurred_at_ns=(NOW_MS + 5000) * 1_000_000,
        )
    ]
    assert header(outputs[0].headers, "ce_type") == "onereply.command.delivery-fact"


def test_delivery_fact_that_names_its_reply_needs_no_id() -> None:
    """A provider that hands our key back makes the join itself."""
    outputs = Deciding().give(a_fact(Kind.DELIVERED, message_id=None, reply_key=key_of("m")))

    assert [each.reply_key for each in told(outputs)] == [key_of("m")]


def test_delivery_fact_about_nothing_known_is_told_to_nobody() -> None:
    """A mail that a person sent from the inbox is not a reply of ours."""
    deciding = Deciding()
    deciding.give(a_fact(Kind.SENT))

    outputs = deciding.give(a_fact(Kind.DELIVERED), a_fact(Kind.DELIVERED, message_id=None))

    assert orders(outputs) == []


def test_delivery_fact_that_comes_before_the_reply_waits_for_it() -> None:
    """The provider's news may overtake our own."""
    deciding = Deciding()
    early = deciding.give(a_mail(), a_fact(Kind.SENT), a_fact(Kind.DELIVERED))

    outputs = deciding.give(a_reply_sent())

    assert told(early) == []
    assert [(each.reply_key, each.kind) for each in told(outputs)] == [
        (key_of("m"), Kind.DELIVERED)
    ]
    assert list(deciding.desk.turn().rows(EARLY)) == []


def test_facts_that_wait_for_a_reply_are_few() -> None:
    """A provider that repeats itself must not fill our state."""
    deciding = Deciding()

    deciding.give(*(a_fact(Kind.DELIVERED) for _ in range(MOST_EARLY + 1)))

    assert [len(row.news) for _, row in deciding.desk.turn().rows(EARLY)] == [MOST_EARLY]


SUPPRESSING = {
    "permanent bounce": (a_bounce(), True),
    "permanent bounce in small letters": (a_bounce("permanent"), True),
    "transient bounce": (a_bounce("Transient/MailboxFull"), False),
    "bounce of unknown kind": (a_bounce(None), False),
    "complaint": (a_fact(Kind.COMPLAINED, recipients=(JANE,)), True),
    "rejection": (a_fact(Kind.REJECTED, recipients=(JANE,)), True),
    "delivery": (a_fact(Kind.DELIVERED, recipients=(JANE,)), False),
    "opening": (a_fact(Kind.OPENED, recipients=(JANE,)), False),
    "opt-out": (a_fact(Kind.SUPPRESSED, recipients=(JANE,)), True),
}


@pytest.mark.parametrize(("fact", "is_suppressing"), SUPPRESSING.values(), ids=SUPPRESSING.keys())
def test_address_that_mail_cannot_or_must_not_reach_is_suppressed(
    fact: ThreadEvent, *, is_suppressing: bool
) -> None:
    """Answering a dead or unwilling address ruins the inbox's name."""
    deciding = Deciding()
    deciding.give(fact)

    rule = deciding.rule(a_mail())

    assert rule == ("suppressed" if is_suppressing else "route-send")


def test_suppression_is_the_inboxs_own() -> None:
    """One team's opt-out is not another's."""
    deciding = Deciding()
    deciding.give(a_bounce())

    assert deciding.rule(a_mail(inbox_id=BILLING, recipient=BILLING)) == "route-send"


def test_suppression_concerns_the_address_for_answers_too() -> None:
    """The answer would go there."""
    deciding = Deciding()
    deciding.give(a_bounce())

    mail = a_mail(sender="J <j@home.example>", reply_to=("JANE@Customer.example",))

    assert deciding.rule(mail) == "suppressed"


def test_suppression_can_be_taken_back() -> None:
    """A customer who asks to be answered again is."""
    deciding = Deciding()
    deciding.give(
        a_fact(Kind.SUPPRESSED, recipients=(JANE,)),
        a_fact(Kind.SUPPRESSED, recipients=(JANE,), detail="removed"),
    )

    assert deciding.rule(a_mail()) == "route-send"


def test_fact_that_names_nobody_concerns_those_that_the_reply_went_to() -> None:
    """AgentMail's rejections name no recipients."""
    deciding = Deciding()
    deciding.give(a_mail(), a_reply_sent(), a_fact(Kind.REJECTED))

    assert suppressed(deciding) == listed(JANE)


def test_early_fact_that_names_nobody_concerns_them_too() -> None:
    """The same, when the rejection overtakes our own news."""
    deciding = Deciding()
    deciding.give(a_mail(), a_fact(Kind.REJECTED), a_reply_sent())

    assert suppressed(deciding) == listed(JANE)


def test_what_is_not_an_address_suppresses_nothing() -> None:
    """A provider's list may hold anything."""
    deciding = Deciding()

    deciding.give(a_bounce(recipients=("", "MAILER-DAEMON", "x" * 2000, "Jane <jane@c.example>")))

    assert suppressed(deciding) == listed("jane@c.example")


def test_new_suppression_withdraws_the_replies_that_are_open() -> None:
    """What was asked for before the complaint must not go out after it."""
    deciding = Deciding()
    deciding.give(a_mail("a"), a_mail("b", at_ms=1))

    outputs = deciding.give(a_fact(Kind.COMPLAINED, recipients=(JANE,)))

    assert sorted(withdrawn(outputs), key=lambda each: each.reply_key) == sorted(
        (
            Withdraw(
                reply_key=key_of(name), inbox_id=INBOX, reason="suppressed: message.complained"
            )
            for name in ("a", "b")
        ),
        key=lambda each: each.reply_key,
    )


def test_second_suppression_withdraws_nothing_again() -> None:
    """The orders were given."""
    deciding = Deciding()
    deciding.give(a_mail(), a_fact(Kind.COMPLAINED, recipients=(JANE,)))

    outputs = deciding.give(a_fact(Kind.COMPLAINED, "r2", recipients=(JANE,)))

    assert withdrawn(outputs) == []


def test_reply_that_has_left_is_not_withdrawn() -> None:
    """Nothing can call a sent mail back."""
    deciding = Deciding()
    deciding.give(a_mail("a"), a_mail("b", at_ms=1), a_reply_sent("a"))

    outputs = deciding.give(a_bounce())

    assert [each.reply_key for each in withdrawn(outputs)] == [key_of("b")]


def test_refused_mail_has_nothing_to_withdraw() -> None:
    """What was never asked for is not open."""
    deciding = Deciding()

    deciding.give(a_mail(labels=("spam",)))

    assert list(deciding.desk.turn().rows(OPEN)) == []


def test_erasure_takes_the_words_and_withdraws_the_reply() -> None:
    """Nothing of an erased mail reaches a later writer."""
    deciding = Deciding()
    deciding.give(a_mail("a", text="secret"), a_reply_sent("a", at_ms=1, text="secret too"))

    outputs = deciding.give(a_fact(Kind.ERASED, message_id=MessageId("a@mail.customer.example")))
    (ask,) = asks(deciding.give(a_mail("b", at_ms=2)))

    assert [(each.reply_key, each.reason) for each in withdrawn(outputs)] == [
        (key_of("a"), "erased")
    ]
    assert [said.text for said in ask.log] == ["Hello"]
    assert not any(b"secret" in value for value in deciding.desk.state.rows.values())


def test_reply_that_leaves_after_the_erasure_is_not_logged() -> None:
    """One in flight is settled first; its words are not kept here."""
    deciding = Deciding()
    deciding.give(a_mail(), a_fact(Kind.ERASED, message_id=MessageId("m@mail.customer.example")))

    deciding.give(a_reply_sent(text="secret"))

    assert list(deciding.desk.turn().rows(LOG)) == []


def test_erasure_of_what_is_not_known_is_still_ordered() -> None:
    """SEND remembers longer than DECIDE."""
    outputs = Deciding().give(a_fact(Kind.ERASED, message_id=MessageId("m@mail.customer.example")))

    assert [each.reply_key for each in withdrawn(outputs)] == [key_of("m")]


def test_erasure_without_an_id_is_passed_over() -> None:
    """There is nothing to erase by."""
    assert Deciding().give(a_fact(Kind.ERASED, message_id=None)) == []


def test_fact_is_placed_where_reorder_put_it() -> None:
    """A reply's line stands at the position that the record carries."""
    deciding = Deciding()
    place = Position(occurred_at_ns=7, sequence=2, tie="x")

    deciding.give(ordered(a_reply_sent(), position=place))

    assert [row.place for _, row in deciding.desk.turn().rows(LOG)] == [(7, 2, "x")]
