"""Commands that cannot be carried out, and dead letters that come back."""

import msgspec
import pytest

from processors.core.ledger_rows import LEDGER
from processors.core.outcomes import Answer
from processors.core.send import MOST_COMMAND_BYTES, keys, on_record
from processors.core.send_commands import text_hash
from schemas.codec import to_json
from schemas.commands import (
    COMMAND,
    AskReply,
    SendReply,
    Withdraw,
)
from schemas.errors import DecodeError, Refused, TooLarge
from schemas.headers import DEAD_STAGE
from tests.sending import (
    DAY_MS,
    HOUR_MS,
    INBOX,
    POLICY,
    a_sender,
    a_text,
    an_ask,
    key_of,
)
from tests.turns import NOW_MS

REDRIVEN = ((DEAD_STAGE, b"send"),)


def _withdrawal(name: str = "m1", reason: str = "opt-out") -> Withdraw:
    return Withdraw(reply_key=key_of(name), inbox_id=INBOX, reason=reason)


def test_deletion_is_no_command() -> None:
    """A record without a value orders nothing."""
    sender = a_sender()
    record = sender.desk.record(None)

    on_record(record, sender.desk.turn(record), policy=POLICY)

    assert (keys(record), sender.desk.state.rows) == ((), {})


def test_record_that_is_no_command_is_refused() -> None:
    """The runtime makes it a dead letter."""
    sender = a_sender()
    record = sender.desk.record(b"{}")

    with pytest.raises(DecodeError):
        on_record(record, sender.desk.turn(record), policy=POLICY)


def test_rows_that_a_command_needs_are_named() -> None:
    """A batch reads them in one go."""
    sender = a_sender()

    named = keys(sender.desk.record(to_json(a_text())))

    assert named[0] == LEDGER.key(key_of("m1"))


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (an_ask(provider="pigeon"), "no replies through provider pigeon"),
        (an_ask(outcome="maybe"), "an ask's outcome is not maybe"),
    ],
)
def test_ask_that_cannot_be_kept_is_refused(ask: AskReply, words: str) -> None:
    """Better a dead letter now than a reply that nobody can post."""
    sender = a_sender()

    with pytest.raises(Refused, match=words):
        sender.give(ask)

    assert sender.desk.state.rows == {}


def test_command_that_is_too_large_is_refused() -> None:
    """All that SEND makes of a command must fit a record."""
    sender = a_sender(an_ask())

    with pytest.raises(TooLarge):
        sender.give(a_text(text="x" * MOST_COMMAND_BYTES))

    assert sender.state() == "asked"


def test_rejected_reply_may_be_redriven_with_a_new_text() -> None:
    """The provider would refuse the old one again."""
    sender = a_sender(an_ask(), a_text(text="too long"))
    sender.answer(Answer(status=422))

    sender.give(a_text(text="short"), headers=REDRIVEN)

    assert b"short" in sender.calls[0].request.request.body
    assert sender.row().text_hash == text_hash("short", None)


def test_reply_given_up_by_age_is_redriven_with_its_own_bytes() -> None:
    """Its key may be known at the provider, with these bytes."""
    sender = a_sender(an_ask(), a_text(text="first"))
    first = sender.answer(Answer(status=429, retry_after="3600"))
    for _ in range(23):
        sender.wait_for_call()
        sender.answer(Answer(status=429, retry_after="3600"))
    sender.wait(HOUR_MS)
    assert sender.state() == "given-up"

    sender.give(a_text(text="second"), headers=REDRIVEN)

    assert [each.request.request for each in sender.calls] == [first.request.request]


def test_reply_that_may_have_been_sent_is_not_redriven() -> None:
    """Only a person who looked may send it again."""
    sender = a_sender(an_ask(), a_text())
    sender.answer(Answer(status=500))
    sender.wait_for_call()
    sender.answer(Answer(status=422))

    sender.give(a_text(), headers=REDRIVEN)

    assert sender.state() == "given-up"


def test_reply_whose_content_is_gone_cannot_be_redriven() -> None:
    """It says so, instead of sending half a mail."""
    sender = a_sender(an_ask(), a_text())
    sender.answer(Answer(status=422))
    sender.wait(8 * DAY_MS)

    with pytest.raises(Refused, match="no longer kept"):
        sender.give(a_text(), headers=REDRIVEN)


def test_erased_ask_cannot_be_redriven() -> None:
    """What was erased does not come back from a dead letter."""
    sender = a_sender(an_ask())
    sender.wait(25 * HOUR_MS)
    sender.give(_withdrawal(reason="erased"))

    with pytest.raises(Refused, match="erased"):
        sender.give(an_ask(), headers=REDRIVEN)


def test_dead_letter_carries_the_text_as_it_came() -> None:
    """Redriving it must bring back all that the writer said."""
    sender = a_sender(an_ask(outcome="hold"))
    text = SendReply(
        reply_key=key_of("m1"),
        inbox_id=INBOX,
        ask_number=1,
        text="words",
        html="<p>words</p>",
        needs_approval=True,
        summary="a summary",
        evidence=msgspec.Raw(b'{"order":1}'),
    )
    sender.give(text)
    sender.approve()

    sender.answer(Answer(status=422))

    (dead,) = sender.dead_letters()
    assert to_json(COMMAND.decode(dead.value)) == to_json(text)
    assert sender.desk.now_ms == NOW_MS
