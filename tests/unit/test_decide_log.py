from processors.core.thread_log import LOG
from tests.deciding import (
    Deciding,
    a_mail,
    asks,
    ordered,
)


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
