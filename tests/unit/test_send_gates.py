"""The gate of an account that is sick or away: probes, alarms, and time that does not count."""

import msgspec
import pytest

from processors.core.gates import FAILURES_TO_CLOSE
from processors.core.ledger_rows import GATES
from processors.core.outcomes import Answer
from processors.core.posting import MOST_PULLED
from schemas.commands import Withdraw
from tests.backlogs import DOWN, NO_AUTH, a_backlog, gate_moves, serve, states
from tests.sending import (
    DAY_MS,
    HOUR_MS,
    INBOX,
    MINUTE_MS,
    SECOND_MS,
    SENT,
    a_sender,
    a_text,
    an_ask,
    key_of,
)


@pytest.mark.parametrize("answer", [NO_AUTH, Answer(status=403), DOWN])
def test_ten_minutes_of_outage_cost_no_reply(answer: Answer) -> None:
    """A fault that all replies share is not a fault of each."""
    sender = a_backlog(50)

    serve(sender, answer, for_ms=10 * MINUTE_MS)
    serve(sender, SENT, for_ms=2 * MINUTE_MS)

    assert states(sender, 50) == ["sent"] * 50
    assert sender.dead_letters() == []


def test_paused_account_spends_no_attempts_and_few_calls() -> None:
    """A key that was revoked is tried by one reply at a time, at most once a minute in the end."""
    sender = a_backlog(50)

    calls = serve(sender, NO_AUTH, for_ms=HOUR_MS)

    assert calls < 150
    assert {sender.row(f"m{nth}").attempts for nth in range(50)} == {0}


def test_pause_raises_one_alarm_and_says_when_it_is_over() -> None:
    """Fifty alarms for one revoked key hide the next fault."""
    sender = a_backlog(10)

    serve(sender, NO_AUTH, for_ms=10 * MINUTE_MS)
    serve(sender, SENT, for_ms=2 * MINUTE_MS)

    assert gate_moves(sender) == [("account/main", "closed"), ("account/main", "open")]


def test_probes_that_find_the_gate_closed_leave_no_audit() -> None:
    """Three days of a stopped account must not fill the audit."""
    sender = a_backlog(3)
    serve(sender, NO_AUTH, for_ms=MINUTE_MS)
    told = len(sender.outputs)

    serve(sender, NO_AUTH, for_ms=HOUR_MS)

    assert len(sender.outputs) == told


def test_one_reply_that_always_fails_does_not_pause_the_account() -> None:
    """It may be at fault itself."""
    sender = a_sender(an_ask(), a_text())
    for _ in range(2 * FAILURES_TO_CLOSE):
        sender.wait_for_call()
        sender.answer(DOWN)

    sender.give(an_ask("m2", thread="thd_2"))
    sender.give(a_text("m2"))

    assert (sender.state("m2"), gate_moves(sender)) == ("posting", [])


def test_success_between_failures_starts_the_count_again() -> None:
    """Three failures in a row are an outage; three in a day are not."""
    sender = a_backlog(6, calls_at_once=6)

    for answer in (DOWN, DOWN, SENT, DOWN, DOWN, SENT):
        sender.answer(answer)

    assert gate_moves(sender) == []


def test_outage_that_only_one_reply_is_left_to_see_does_not_pause_it_for_ever() -> None:
    """Its own age must count again, or it would neither be sent nor given up."""
    sender = a_backlog(3, calls_at_once=3)
    for _ in range(FAILURES_TO_CLOSE):
        sender.answer(DOWN)
    while sender.state("m0") != "given-up" or sender.state("m1") != "given-up":
        call = sender.wait_for_call()
        sender.answer(DOWN if call.id == key_of("m2") else Answer(status=422), call=call)

    serve(sender, DOWN, for_ms=2 * DAY_MS)

    assert sender.state("m2") == "held-uncertain"


def test_lone_probe_that_fails_opens_the_gate() -> None:
    """It is one reply against one fault: its own backoff and age see to it."""
    sender = a_backlog(1)
    sender.answer(NO_AUTH)
    sender.wait_for_call()

    sender.answer(DOWN)

    assert gate_moves(sender) == [("account/main", "closed"), ("account/main", "open")]
    assert (sender.row("m0").lane, sender.row("m0").attempts) == ("", 1)


def test_call_that_ends_well_while_the_gate_is_closed_leaves_it_closed() -> None:
    """It may have begun before the outage did; the probe decides."""
    sender = a_backlog(3, calls_at_once=3)

    sender.answer(NO_AUTH)
    sender.answer(SENT)

    assert gate_moves(sender) == [("account/main", "closed")]


def test_probe_whose_result_is_lost_is_followed_by_another() -> None:
    """A crash during a probe must not leave the gate closed for ever."""
    sender = a_backlog(2)
    sender.answer(NO_AUTH)
    sender.answer(NO_AUTH)
    sender.wait_for_call()
    sender.crash()

    serve(sender, SENT, for_ms=2 * MINUTE_MS)

    assert states(sender, 2) == ["sent", "sent"]


def test_time_at_a_closed_gate_does_not_count() -> None:
    """Two days without a valid key give nothing up."""
    sender = a_backlog(3)

    serve(sender, NO_AUTH, for_ms=2 * DAY_MS)
    during = states(sender, 3)
    serve(sender, SENT, for_ms=2 * MINUTE_MS)

    assert "given-up" not in during
    assert states(sender, 3) == ["sent"] * 3


def test_gate_opens_when_nobody_is_left_to_try_it() -> None:
    """Whoever comes next finds out by itself."""
    sender = a_backlog(1)
    sender.answer(NO_AUTH)
    sender.give(Withdraw(reply_key=key_of("m0"), inbox_id=INBOX, reason="opt-out"))

    sender.wait(MINUTE_MS)

    assert (sender.state("m0"), list(sender.desk.turn().rows(GATES))) == ("refused", [])


def test_accounts_do_not_wait_for_each_other() -> None:
    """One customer's revoked key is nobody else's."""
    sender = a_backlog(1)
    other = msgspec.structs.replace(an_ask("m9", thread="thd_9"), account="other")
    sender.answer(NO_AUTH)

    sender.give(other)
    sender.give(a_text("m9"))

    assert (sender.state("m0"), sender.state("m9")) == ("due", "posting")


def test_long_lane_is_let_out_in_parts() -> None:
    """No batch grows with the backlog."""
    count = MOST_PULLED + 30
    sender = a_backlog(count, calls_at_once=1)
    sender.answer(NO_AUTH)
    sender.wait(SECOND_MS)

    while sender.row("m0").state != "sent" and sender.calls:
        sender.answer(SENT)
    serve(sender, SENT, for_ms=10 * MINUTE_MS)

    assert set(states(sender, count)) == {"sent"}
