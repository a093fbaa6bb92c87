from typing import Any

import pytest

from processors.core.suppression import OPEN, SUPPRESSED
from schemas.commands import Withdraw
from schemas.events import Kind, ThreadEvent
from tests.deciding import (
    BILLING,
    INBOX,
    Deciding,
    a_fact,
    a_mail,
    a_reply_sent,
    key_of,
    withdrawn,
)

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
