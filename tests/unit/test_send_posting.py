"""SEND from the text to the receipt: claims, answers, giving up, timers."""

import pytest

from processors.core.outcomes import (
    KEY_MARGIN_MS,
    Answer,
    Failure,
)
from processors.core.posting import LEASE_GRACE_MS
from processors.core.requests import LOOK_UP, POST
from processors.core.send import timer_limits_ms
from schemas.headers import DEAD_ERROR, DEAD_REASON, header
from tests.sending import (
    DAY_MS,
    HOUR_MS,
    MINUTE_MS,
    POLICY,
    SECOND_MS,
    SENT,
    Sender,
    a_sender,
    a_text,
    an_ask,
    key_of,
)

TIMED_OUT = Answer(failure=Failure.TIMEOUT)
DAY_OLD_MS = DAY_MS - KEY_MARGIN_MS


def a_posting(**policy: object) -> Sender:
    """A sender with one call under way."""
    return a_sender(an_ask(), a_text(), **policy)


def test_claim_orders_one_call_with_its_own_attempt() -> None:
    """Only a claim that is written may be carried out, and only its result may count."""
    sender = a_posting()

    (call,) = sender.calls
    row = sender.row()
    assert (call.kind, call.id, call.attempt) == (POST, key_of("m1"), row.attempt)
    assert (call.lease_ms, call.request.idempotency_key) == (POLICY.lease_ms, key_of("m1"))
    assert row.wake_at_ms == sender.desk.now_ms + POLICY.lease_ms + LEASE_GRACE_MS


def test_attempts_of_one_reply_have_different_ids() -> None:
    """A late result of the first must not settle the second."""
    sender = a_posting()
    first = sender.answer(TIMED_OUT)

    second = sender.wait_for_call()

    assert first.attempt != second.attempt


def test_every_attempt_has_the_same_key_and_bytes() -> None:
    """That is what lets the provider fold them into one mail."""
    sender = a_posting()
    calls = [sender.answer(Answer(status=503))]
    for answer in (TIMED_OUT, Answer(status=200), Answer(status=429), SENT):
        sender.wait_for_call()
        calls.append(sender.answer(answer))

    assert {(call.request.idempotency_key, call.request.request) for call in calls} == {
        (key_of("m1"), calls[0].request.request)
    }
    assert sender.state() == "sent"


def test_at_most_so_many_calls_are_under_way() -> None:
    """A backlog must not open a thousand connections."""
    sender = a_sender(calls_at_once=2)
    for nth in range(5):
        sender.give(an_ask(f"m{nth}", thread=f"thd_{nth}"))
        sender.give(a_text(f"m{nth}"))
    under_way = len(sender.calls)

    while sender.calls:
        sender.answer(SENT)

    assert under_way == 2
    assert [sender.state(f"m{nth}") for nth in range(5)] == ["sent"] * 5


def test_waiting_replies_go_in_the_order_in_which_they_came() -> None:
    """Nobody is overtaken for want of a slot."""
    sender = a_sender(calls_at_once=1)
    for nth in range(4):
        sender.give(an_ask(f"m{nth}", thread=f"thd_{nth}"))
        sender.desk.now_ms += SECOND_MS
        sender.give(a_text(f"m{nth}"))

    order = [sender.answer(SENT).id for _ in range(4)]

    assert order == [key_of(f"m{nth}") for nth in range(4)]


def test_accepted_reply_has_its_receipt() -> None:
    """The provider's id is what delivery facts will name."""
    sender = a_posting()

    sender.answer(SENT)

    (receipt,) = sender.receipts()
    assert (receipt.state, receipt.attempts) == ("sent", 1)
    assert receipt.provider_message_id == "<r1@inbox.example>"
    assert receipt.provider_thread_id == "thd_1"


def test_result_of_another_attempt_is_ignored() -> None:
    """It was counted as unknown when its lease ran out."""
    sender = a_posting()
    (first,) = sender.calls
    sender.crash()
    sender.wait_for_call()

    sender.repeat(first, Answer(status=422))

    assert sender.state() == "posting"


def test_result_that_comes_twice_counts_once() -> None:
    """A result is handed in again when its batch was rolled back."""
    sender = a_posting()
    call = sender.answer(SENT)

    sender.repeat(call, SENT)

    assert len(sender.receipts()) == 1


def test_result_of_an_unknown_reply_is_ignored() -> None:
    """The row may be long gone."""
    sender = a_posting()
    (call,) = sender.calls

    a_sender().repeat(call, SENT)

    assert sender.state() == "posting"


def test_call_that_is_never_heard_of_is_repeated_after_its_lease() -> None:
    """A crash between S1 and S3 leaves an unknown outcome, not a stuck reply."""
    sender = a_posting()
    sender.crash()

    call = sender.wait_for_call()

    assert call.request.idempotency_key == key_of("m1")
    assert (sender.row().attempts, sender.row().is_unsure) == (1, True)


@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_is_kept(status: int) -> None:
    """The provider said when."""
    sender = a_posting()
    sender.answer(Answer(status=status, retry_after="120"))

    sender.wait(119 * SECOND_MS)
    early = list(sender.calls)
    sender.wait(SECOND_MS)

    assert (early, len(sender.calls)) == ([], 1)


def test_rejected_reply_is_given_up_with_a_dead_letter() -> None:
    """Trying the same again cannot help; a person may change the text."""
    sender = a_posting()

    sender.answer(Answer(status=422, code="unprocessable"))

    (dead,) = sender.dead_letters()
    assert sender.receipts()[-1].state == "given-up"
    assert header(dead.headers, DEAD_ERROR) == "GivenUp"
    assert header(dead.headers, DEAD_REASON) == "422 unprocessable"


def test_unwritten_call_is_certainly_not_sent() -> None:
    """The lease ran out before the call began: no key expires by that."""
    sender = a_posting()

    sender.answer(Answer(failure=Failure.UNWRITTEN))

    row = sender.row()
    assert (row.state, row.is_unsure, row.was_attempted) == ("due", False, False)


def test_reply_is_given_up_after_a_day_not_after_a_count() -> None:
    """An outage of a day is somebody's business."""
    sender = a_posting()
    for _ in range(23):
        sender.answer(Answer(status=429, retry_after="3600"))
        sender.wait_for_call()
    sender.answer(Answer(status=429, retry_after="3600"))
    before = sender.state()

    sender.wait(HOUR_MS)

    assert (before, sender.state()) == ("due", "given-up")
    assert sender.receipts()[-1].reason == "too old"
    assert len(sender.dead_letters()) == 1


def test_reply_of_unknown_outcome_is_looked_up_instead_of_given_up() -> None:
    """A dead letter could be redriven, and a mail may be out there."""
    sender = a_posting(give_up_after_ms=HOUR_MS)
    sender.answer(TIMED_OUT)
    sender.desk.now_ms += HOUR_MS

    sender.fire()

    assert (sender.calls[0].kind, sender.dead_letters()) == (LOOK_UP, [])


def test_wait_ends_when_the_reply_is_too_old() -> None:
    """A long Retry-After does not keep a reply beyond its day."""
    sender = a_posting(give_up_after_ms=10 * MINUTE_MS)
    sender.answer(Answer(status=429, retry_after="3600"))

    sender.wait(10 * MINUTE_MS)

    assert sender.state() == "given-up"


def test_stale_timer_is_ignored() -> None:
    """A timer that was set for another moment of the reply's life means nothing now."""
    sender = a_posting()
    waiting = sorted(sender.desk.timers.waiting)
    sender.answer(SENT)
    told = len(sender.outputs)

    sender.fire_early(waiting)

    assert len(sender.outputs) == told


def test_every_kind_of_timer_has_its_furthest_moment() -> None:
    """A clock that jumps back must not make replies wait for years."""
    limits = timer_limits_ms(POLICY)

    assert limits == {
        "writer": DAY_MS,
        "due": HOUR_MS,
        "lease": POLICY.lease_ms + LEASE_GRACE_MS,
        "expiry": 7 * DAY_MS,
        "sweep": 7 * DAY_MS,
        "forget": 400 * DAY_MS,
        "gate": MINUTE_MS,
        "lane": 0,
    }
