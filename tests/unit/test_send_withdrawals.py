"""Withdrawals, erasures and delivery facts: what may still be called back, and what is noted."""

from typing import Any

from processors.core.ledger_rows import ASKS, REQUESTS, TEXTS
from processors.core.outcomes import Answer
from schemas.commands import (
    DeliveryFact,
    Withdraw,
)
from schemas.events import THREAD_EVENT
from schemas.topics import Topic
from tests.sending import (
    INBOX,
    SENT,
    Sender,
    a_sender,
    a_text,
    an_ask,
    key_of,
)

KEY = key_of("m1")


def _withdrawal(name: str = "m1", reason: str = "opt-out") -> Withdraw:
    return Withdraw(reply_key=key_of(name), inbox_id=INBOX, reason=reason)


def contents(sender: Sender) -> list[object]:
    """What is kept of a reply besides its row."""
    turn = sender.desk.turn()
    kept = (turn.get(ASKS, KEY), turn.get(TEXTS, KEY), turn.get(REQUESTS, KEY))
    return [each for each in kept if each is not None]


def test_withdrawal_during_a_call_counts_if_nothing_was_sent() -> None:
    """The recipient opted out while sends were stopped: the reply must not go when they start."""
    sender = a_sender(an_ask(), a_text())

    sender.give(_withdrawal())
    sender.answer(Answer(status=401))

    assert (sender.state(), sender.receipts()[-1].reason) == ("refused", "opt-out")


def test_withdrawal_during_a_call_that_succeeds_comes_too_late() -> None:
    """What is sent is sent, and is told so."""
    sender = a_sender(an_ask(), a_text())

    sender.give(_withdrawal())
    sender.answer(SENT)

    assert sender.state() == "sent"


def test_withdrawal_during_a_call_without_an_answer_does_not_hide_it() -> None:
    """A mail may be out there: the ledger must not say refused."""
    sender = a_sender(an_ask(), a_text())

    sender.give(_withdrawal())
    sender.answer(Answer(status=500))

    assert sender.state() == "due"


def test_withdrawn_reply_frees_its_thread() -> None:
    """The next one is asked."""
    sender = a_sender(an_ask("m1"), an_ask("m2", nth=2))

    sender.give(_withdrawal("m1"))

    assert sender.state("m2") == "asked"


def test_erased_reply_leaves_no_content() -> None:
    """Ask, text and request go at once, not in a week."""
    sender = a_sender(an_ask(), a_text())
    sender.answer(SENT)

    sender.give(_withdrawal(reason="erased"))
    sender.wait(0)

    assert contents(sender) == []
    assert (sender.state(), sender.row().is_swept) == ("sent", True)


def test_reply_that_is_erased_in_flight_is_settled_first_and_says_nothing_of_its_text() -> None:
    """One in flight cannot be called back; its words go nowhere else."""
    sender = a_sender(an_ask(), a_text())

    sender.give(_withdrawal(reason="erased"))
    sender.answer(SENT)
    sender.wait(0)

    (fact,) = sender.told(Topic.THREAD_EVENTS, THREAD_EVENT)
    assert (sender.state(), fact.text) == ("sent", None)
    assert sender.desk.turn().get(TEXTS, key_of("m1")) is None


def test_erased_reply_is_given_up_without_a_dead_letter() -> None:
    """A dead letter would keep what was to be forgotten."""
    sender = a_sender(an_ask(), a_text())

    sender.give(_withdrawal(reason="erased"))
    sender.answer(Answer(status=422))

    assert (sender.state(), sender.dead_letters()) == ("given-up", [])


def test_replayed_erasure_lets_the_thread_go_on_without_a_mark() -> None:
    """The text that is asked for then is an ordinary one, and must not be dropped."""
    sender = a_sender(an_ask("m1"), an_ask("m2", nth=2))

    sender.give(_withdrawal("m1", reason="erased"), mark="replay-1")

    asked = [each for each in sender.outputs if each.topic == Topic.WRITER_REQUESTS]
    assert (sender.state("m2"), asked[-1].mark) == ("asked", None)


def test_latest_delivery_fact_is_kept_apart_from_the_state() -> None:
    """Accepted by the provider is one thing, what became of the mail another."""
    sender = a_sender(an_ask(), a_text())
    sender.answer(SENT)
    known: dict[str, Any] = {"reply_key": key_of("m1"), "inbox_id": INBOX}

    sender.give(DeliveryFact(kind="message.bounced", occurred_at_ns=2, **known))
    sender.give(DeliveryFact(kind="message.delivered", occurred_at_ns=1, **known))
    sender.give(DeliveryFact(kind="message.complained", occurred_at_ns=9, **known), mark="r")

    row = sender.row()
    assert (row.state, row.delivery, row.delivery_at_ns) == ("sent", "message.bounced", 2)
