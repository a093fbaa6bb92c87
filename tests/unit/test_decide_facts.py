import pytest

from processors.core.decide_rows import EARLY, MOST_EARLY, OWN
from processors.core.thread_log import LOG
from schemas.commands import DeliveryFact, Said
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
    facts,
    key_of,
    ordered,
    orders,
    withdrawn,
)
from tests.turns import NOW_MS


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

    assert [each.reply_key for each in facts(outputs)] == [key_of("m")]


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

    assert facts(outputs) == [
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

    assert [each.reply_key for each in facts(outputs)] == [key_of("m")]


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

    assert facts(early) == []
    assert [(each.reply_key, each.kind) for each in facts(outputs)] == [
        (key_of("m"), Kind.DELIVERED)
    ]
    assert list(deciding.desk.turn().rows(EARLY)) == []


def test_facts_that_wait_for_a_reply_are_few() -> None:
    """A provider that repeats itself must not fill our state."""
    deciding = Deciding()

    deciding.give(*(a_fact(Kind.DELIVERED) for _ in range(MOST_EARLY + 1)))

    assert [len(row.news) for _, row in deciding.desk.turn().rows(EARLY)] == [MOST_EARLY]


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
