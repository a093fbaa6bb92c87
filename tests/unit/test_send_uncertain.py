"""Outcomes that nobody knows: conflicts, the key's life, look-ups, and what a person settles."""

import dataclasses

import msgspec
import pytest

from processors.core.outcomes import (
    CONTRACTS,
    KEY_MARGIN_MS,
    Answer,
    Contract,
    Failure,
    Looked,
    Verdict,
)
from processors.core.requests import LOOK_UP, POST
from processors.core.retry import CONFLICT_WAITS_MS
from processors.core.settling import MOST_LOOKUPS
from schemas.headers import DEAD_ERROR, header
from tests.sending import (
    DAY_MS,
    HOUR_MS,
    MINUTE_MS,
    SECOND_MS,
    SENT,
    Sender,
    a_sender,
    a_text,
    an_ask,
    key_of,
)

TIMED_OUT = Answer(failure=Failure.TIMEOUT)
IN_CONFLICT = Answer(status=409, code="conflict")
NOT_THERE = Looked(answer=Answer(status=200))
FOUND = Looked(answer=Answer(status=200), found=("<r7@inbox.example>", "thd_1"))
DAY_OLD_MS = DAY_MS - KEY_MARGIN_MS


def a_posting(**policy: object) -> Sender:
    """A sender with one call under way."""
    return a_sender(an_ask(), a_text(), **policy)


def with_contract(contract: Contract) -> Sender:
    """One call under way at a provider with this contract."""
    return a_posting(contracts={"agentmail": contract})


def looking() -> Sender:
    """The answer was lost a day ago; our reply is being looked for."""
    sender = a_posting()
    sender.answer(TIMED_OUT)
    sender.desk.now_ms += DAY_OLD_MS
    sender.fire()
    return sender


def test_conflict_is_repeated_five_times_and_then_looked_up() -> None:
    """AgentMail's 409 may mean that our first call still runs, or that the key is spent."""
    sender = a_posting()
    began = sender.desk.now_ms
    for _ in CONFLICT_WAITS_MS:
        sender.answer(IN_CONFLICT)
        sender.wait_for_call()
    posted = sender.calls[0].kind
    sender.answer(IN_CONFLICT)

    look = sender.wait_for_call()

    assert (posted, look.kind) == (POST, LOOK_UP)
    assert sender.desk.now_ms - began == 60 * SECOND_MS


def test_conflict_that_was_our_own_call_ends_with_its_answer() -> None:
    """The usual way out: the first call ends, and its answer is given again."""
    sender = a_posting()
    sender.answer(TIMED_OUT)
    sender.wait_for_call()
    sender.answer(IN_CONFLICT)
    sender.wait_for_call()

    sender.answer(SENT)

    assert sender.state() == "sent"


def test_conflict_without_a_reply_in_the_thread_is_a_dead_letter_and_a_question() -> None:
    """Nothing new is sent under that key; somebody has to find out why it was used."""
    sender = a_posting()
    for _ in range(6):
        sender.answer(IN_CONFLICT)
        sender.wait_for_call()

    sender.answer(NOT_THERE)

    (dead,) = sender.dead_letters()
    assert sender.state() == "held-uncertain"
    assert header(dead.headers, DEAD_ERROR) == "OutcomeUnknown"
    assert sender.receipts()[-1].reason == "key in use"


def test_conflict_with_a_reply_in_the_thread_is_settled() -> None:
    """Our ledger was lost, and the mail is there."""
    sender = a_posting()
    for _ in range(6):
        sender.answer(IN_CONFLICT)
        sender.wait_for_call()

    sender.answer(FOUND)

    assert (sender.state(), sender.dead_letters()) == ("sent", [])


TELLING = dataclasses.replace(
    CONTRACTS["agentmail"],
    conflicts={"other": Verdict.OTHER_CONTENT, "running": Verdict.RUNNING},
)


def test_other_content_is_never_repeated() -> None:
    """A provider that says so is believed at once."""
    sender = with_contract(TELLING)

    sender.answer(Answer(status=409, code="other"))

    assert sender.wait_for_call().kind == LOOK_UP


def test_running_call_that_does_not_end_counts_as_unknown() -> None:
    """After a minute of waiting the key is tried again with backoff, not given up."""
    sender = with_contract(TELLING)
    for _ in range(len(CONFLICT_WAITS_MS) + 1):
        sender.answer(Answer(status=409, code="running"))
        sender.wait_for_call()

    row = sender.row()
    assert (sender.calls[0].kind, row.conflicts, row.is_unsure) == (POST, 0, True)


def test_unknown_outcome_is_repeated_while_the_key_is_alive() -> None:
    """The provider folds the repeat into the first."""
    sender = a_posting()
    sender.answer(TIMED_OUT)
    sender.desk.now_ms += DAY_OLD_MS - SECOND_MS

    sender.fire()

    assert sender.calls[0].kind == POST


def test_unknown_outcome_is_looked_up_when_the_key_may_be_dead() -> None:
    """A repeat would be a second mail."""
    assert looking().calls[0].kind == LOOK_UP


def test_key_is_dead_under_a_clock_that_went_back() -> None:
    """A key that is younger than now tells of a clock that cannot be believed."""
    sender = a_posting()
    sender.answer(TIMED_OUT)
    sender.desk.now_ms -= MINUTE_MS

    sender.fire_early(sorted(sender.desk.timers.waiting))

    assert sender.calls[0].kind == LOOK_UP


def test_key_lives_from_the_first_call_whose_outcome_is_unknown() -> None:
    """A call that was refused for now left no key at the provider."""
    sender = a_posting()
    sender.answer(Answer(status=429, retry_after="3600"))
    for _ in range(22):
        sender.wait_for_call()
        sender.answer(Answer(status=429, retry_after="3600"))
    sender.wait_for_call()
    sender.answer(TIMED_OUT)

    assert sender.wait_for_call().kind == POST


def test_reply_that_is_found_is_settled_as_sent() -> None:
    """The thread knows better than we do."""
    sender = looking()

    sender.answer(FOUND)

    (receipt,) = sender.receipts()
    assert (receipt.state, receipt.provider_message_id) == ("sent", "<r7@inbox.example>")


@pytest.mark.parametrize("status", [200, 404])
def test_reply_that_is_not_found_is_held_for_a_person(status: int) -> None:
    """It is not sent again: absence is no proof."""
    sender = looking()

    sender.answer(Looked(answer=Answer(status=status)))

    (receipt,) = sender.receipts()
    assert (receipt.state, receipt.reason) == ("uncertain", "outcome unknown")
    assert sender.dead_letters() == []


def test_look_that_fails_is_repeated_and_then_a_person_is_asked() -> None:
    """A provider that never answers must not keep a reply for ever."""
    sender = looking()
    looks = 0
    while sender.state() != "held-uncertain":
        looks += 1
        sender.wait_for_call()
        sender.answer(Looked(answer=Answer(status=400)))

    assert looks == MOST_LOOKUPS


def test_look_whose_result_is_lost_is_repeated() -> None:
    """A crash during a look costs nothing but the look."""
    sender = looking()
    sender.crash()

    assert sender.wait_for_call().kind == LOOK_UP


@pytest.mark.parametrize(
    "contract",
    [
        Contract(key_ttl_ms=0, can_look_up=False),
        Contract(key_ttl_ms=HOUR_MS, can_look_up=False),
    ],
)
def test_provider_without_a_look_up_leaves_the_question_to_a_person(contract: Contract) -> None:
    """No key, or a dead one, and nowhere to look: never a second mail."""
    sender = with_contract(contract)
    sender.answer(TIMED_OUT)

    sender.wait(HOUR_MS)

    assert sender.state() == "held-uncertain"


def test_thread_without_a_name_leaves_the_question_to_a_person() -> None:
    """Where to look is not known."""
    ask = an_ask()
    event = msgspec.structs.replace(ask.event, provider_thread_id=None)
    sender = a_sender(msgspec.structs.replace(ask, event=event), a_text())
    sender.answer(TIMED_OUT)

    sender.wait(2 * DAY_MS)

    assert sender.state() == "held-uncertain"


def test_retry_by_a_person_posts_again_with_the_same_key() -> None:
    """Whoever looked says that nothing was sent; the key's life begins anew."""
    sender = looking()
    sender.answer(NOT_THERE)

    sender.settle("retry")

    (call,) = sender.calls
    assert (call.kind, call.request.idempotency_key) == (POST, key_of("m1"))
    assert sender.row().key_from_ms == sender.desk.now_ms


def test_settlement_by_a_person_tells_the_thread() -> None:
    """A mail that a person found is a mail of ours like any other."""
    sender = looking()
    sender.answer(NOT_THERE)

    sender.settle("sent", provider_message_id="<r9@inbox.example>")

    (receipt,) = [each for each in sender.receipts() if each.state == "sent"]
    assert receipt.provider_message_id == "<r9@inbox.example>"
