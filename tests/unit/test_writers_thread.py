from datetime import UTC, datetime

from processors.writers import Message
from processors.writers.thread import thread_of
from schemas.keys import MessageId, effect_key
from tests.writing import INBOX, SECOND, T0, a_request, an_event, said

ASKED = MessageId("m1@example.net")


def texts(**differences: object) -> list[str]:
    """The thread's texts, in the order in which a writer sees them."""
    return [message.text for message in thread_of(a_request(**differences)).messages]


def test_a_thread_of_one_mail_is_that_mail() -> None:
    """The first mail of a customer has no log before it."""
    thread = thread_of(a_request())

    mail = Message(
        role="customer",
        text="When do you open?",
        occurred_at=datetime(2026, 1, 5, 10, tzinfo=UTC),
        sender="ann@example.net",
        subject="Opening hours",
        message_id=ASKED,
    )
    assert (thread.message, thread.messages, thread.newest) == (mail, (mail,), mail)


def test_messages_are_oldest_first_with_our_replies_among_them() -> None:
    """A writer that reads downwards reads what happened."""
    log = (
        said("and then?", after_s=-10),
        said("we open at nine", after_s=-20, role="us"),
        said("hello", after_s=-30),
    )

    assert texts(log=log) == ["hello", "we open at nine", "and then?", "When do you open?"]


def test_the_mail_to_answer_stands_once_and_in_full() -> None:
    """The log's copy of it is cut to what a log may hold."""
    log = (said("When do", message_id=ASKED, is_truncated=True), said("hello", after_s=-30))

    thread = thread_of(a_request(log=log))

    assert [message.text for message in thread.messages] == ["hello", "When do you open?"]
    assert not thread.message.is_truncated


def test_mail_that_came_meanwhile_stands_after_the_one_to_answer() -> None:
    """A writer may say that it has seen it, and still answers the right one."""
    thread = thread_of(a_request(log=(said("never mind", after_s=5),)))

    assert thread.newest.text == "never mind"
    assert thread.message.text == "When do you open?"


def test_a_late_message_has_its_true_place_and_says_so() -> None:
    """It was not there when the mails after it were answered."""
    log = (said("first, but late", after_s=-60, is_late=True), said("hello", after_s=-30))

    messages = thread_of(a_request(log=log)).messages

    assert [(message.text, message.is_late) for message in messages] == [
        ("first, but late", True),
        ("hello", False),
        ("When do you open?", False),
    ]


def test_a_late_mail_to_answer_says_so() -> None:
    """What DECIDE knew of it stands in the log only."""
    log = (said("When do", after_s=-1, message_id=ASKED, is_late=True), said("later mail"))

    thread = thread_of(a_request(log=log))

    assert thread.message.is_late
    assert thread.newest.text == "later mail"


def test_a_reply_of_ours_is_ours() -> None:
    """A writer must not answer itself."""
    log = (said("we open at nine", after_s=-20, role="us"),)

    assert [message.is_ours for message in thread_of(a_request(log=log)).messages] == [True, False]


def test_messages_at_one_moment_keep_the_order_of_their_sequence() -> None:
    """The provider's own counter is what REORDER went by."""
    event = an_event(sequence=7)
    log = (said("other", after_s=0),)

    assert texts(event=event, log=log) == ["other", "When do you open?"]


def test_a_cut_log_is_not_whole() -> None:
    """A writer that counts messages must know that it does not see all."""
    wholes = [thread_of(a_request(is_log_truncated=cut)).is_whole for cut in (False, True)]

    assert wholes == [True, False]


def test_plain_text_comes_before_html() -> None:
    """The plain part is what the sender's program wrote for readers without a browser."""
    assert texts(event=an_event(html="<p>other</p>")) == ["When do you open?"]


def test_a_mail_with_html_only_has_text() -> None:
    """Else a writer would answer an empty mail."""
    assert texts(event=an_event(text=None, html="<p>When do<br>you <b>open</b>?</p>")) == [
        "When do\nyou open?"
    ]


def test_a_mail_without_a_word_has_an_empty_text() -> None:
    """None would break every writer that looks for a word in it."""
    assert texts(event=an_event(text=None), log=(said("", after_s=-1),)) == ["", ""]


def test_nanoseconds_of_a_moment_become_microseconds() -> None:
    """A datetime holds no more."""
    event = an_event(occurred_at_ns=T0 + SECOND // 2 + 999)

    assert thread_of(a_request(event=event)).message.occurred_at.microsecond == 500_000


def test_an_effect_has_one_key_a_message_and_name() -> None:
    """A writer that is called again must not refund twice."""
    first, again = thread_of(a_request()), thread_of(a_request(ask_number=2))

    assert first.effect_key("refund") == again.effect_key("refund")
    assert first.effect_key("refund") == effect_key(INBOX, ASKED, "refund")
    assert first.effect_key("refund") != first.effect_key("ticket")
