from schemas.keys import ThreadKey, derived_message_id, reply_key
from tests.deciding import (
    BILLING,
    INBOX,
    Deciding,
    a_mail,
    asks,
)


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
