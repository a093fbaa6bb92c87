"""Kill switches and gates beside each other: what waits where, and how it goes on."""

import msgspec

from processors.core.outcomes import Answer, Failure, Looked, Stopped
from processors.core.posting import MOST_PROBES
from processors.core.requests import LOOK_UP
from processors.core.turn import Timer
from schemas.commands import Withdraw
from tests.backlogs import NO_AUTH, STOPPED, a_backlog, serve, states, waiting
from tests.sending import (
    DAY_MS,
    HOUR_MS,
    INBOX,
    MINUTE_MS,
    POLICY,
    SECOND_MS,
    SENT,
    a_text,
    an_ask,
    key_of,
)


def test_stopped_sends_wait_and_go_on() -> None:
    """Nothing is lost, and nothing is given up, by three days of silence."""
    sender = a_backlog(20)

    serve(sender, STOPPED, for_ms=3 * DAY_MS // 24)
    row = sender.row("m0")
    serve(sender, SENT, for_ms=MINUTE_MS)

    assert (row.attempts, row.was_attempted, row.is_unsure) == (0, False, False)
    assert states(sender, 20) == ["sent"] * 20


def test_started_sends_go_on_within_seconds() -> None:
    """An operator who starts them again waits for it."""
    sender = a_backlog(20)
    serve(sender, STOPPED, for_ms=HOUR_MS)

    serve(sender, SENT, for_ms=10 * SECOND_MS)

    assert states(sender, 20) == ["sent"] * 20


def test_inbox_that_is_stopped_stops_no_other() -> None:
    """Its switch has a gate of its own."""
    sender = a_backlog(1)
    sender.answer(Stopped(switch=f"sends/{INBOX}"))
    elsewhere = msgspec.structs.replace(
        an_ask("m9", thread="thd_9"), inbox_id="other@inbox.example"
    )

    sender.give(elsewhere)
    sender.give(msgspec.structs.replace(a_text("m9"), inbox_id="other@inbox.example"))

    assert (sender.state("m0"), sender.state("m9")) == ("due", "posting")


def test_probe_that_meets_another_closed_gate_waits_there() -> None:
    """Two gates may be closed at once, and the next in line is tried."""
    sender = a_backlog(4, calls_at_once=4)
    sender.answer(NO_AUTH)
    sender.answer(STOPPED)
    sender.answer(STOPPED)
    sender.answer(STOPPED)

    serve(sender, SENT, for_ms=3 * MINUTE_MS)

    assert states(sender, 4) == ["sent"] * 4


def test_gate_looks_again_when_the_first_in_its_lane_are_stuck_elsewhere() -> None:
    """A probe is looked for among a few, so that no turn walks through a whole backlog."""
    count = MOST_PROBES + 3
    sender = a_backlog(count, calls_at_once=2)
    sender.answer(Answer(failure=Failure.TIMEOUT))
    sender.answer(STOPPED)
    sender.answer(STOPPED)
    sender.desk.now_ms += DAY_MS
    sender.fire()
    look = next(call for call in sender.calls if call.kind == LOOK_UP)

    sender.answer(Looked(answer=NO_AUTH), call=look)
    sender.answer(STOPPED)
    sender.wait(3 * SECOND_MS)
    serve(sender, SENT, for_ms=5 * MINUTE_MS)

    assert states(sender, count)[1:] == ["sent"] * (count - 1)


def test_gate_whose_whole_lane_is_stuck_elsewhere_is_looked_at_again() -> None:
    """It can learn nothing until the other gate opens."""
    sender = a_backlog(2)
    sender.answer(NO_AUTH)
    sender.answer(NO_AUTH)
    sender.wait_for_call()
    sender.answer(STOPPED)

    serve(sender, STOPPED, for_ms=5 * MINUTE_MS)
    serve(sender, SENT, for_ms=3 * MINUTE_MS)

    assert states(sender, 2) == ["sent", "sent"]


def test_look_up_passes_a_kill_switch() -> None:
    """It posts nothing, and a person may be waiting for what it finds."""
    sender = a_backlog(2, calls_at_once=2)
    sender.answer(Answer(failure=Failure.TIMEOUT))
    sender.answer(STOPPED)
    sender.desk.now_ms += DAY_MS

    sender.fire()
    kinds = {call.kind for call in sender.calls}
    look = next(call for call in sender.calls if call.kind == LOOK_UP)
    sender.answer(Looked(answer=Answer(status=200), found=("<r@x>", None)), call=look)

    assert LOOK_UP in kinds
    assert sender.state("m0") == "sent"


def test_look_up_waits_for_a_sick_account() -> None:
    """It would be refused like a post."""
    sender = a_backlog(1)
    sender.answer(Answer(failure=Failure.TIMEOUT))
    sender.desk.now_ms += DAY_MS
    sender.fire()

    sender.answer(Looked(answer=NO_AUTH))

    assert (sender.state("m0"), waiting(sender), sender.row("m0").lookups) == ("due", 1, 0)


def test_timer_of_another_closing_is_stale() -> None:
    """Only the gate's own timer may send a probe."""
    sender = a_backlog(1)
    sender.answer(NO_AUTH)

    sender.fire_early([Timer(sender.desk.now_ms, "gate", "account/main")])

    assert sender.calls == []


def test_lane_of_a_closed_gate_stays() -> None:
    """A gate may close again before its lane was let out."""
    sender = a_backlog(1)
    sender.answer(NO_AUTH)

    sender.fire_early([Timer(sender.desk.now_ms, "lane", "account/main")])

    assert (sender.calls, waiting(sender)) == ([], 1)


def test_withdrawn_reply_leaves_its_lane() -> None:
    """The lane must not name a reply that is settled."""
    sender = a_backlog(2)
    sender.answer(NO_AUTH)
    sender.answer(NO_AUTH)

    sender.give(Withdraw(reply_key=key_of("m0"), inbox_id=INBOX, reason="opt-out"))

    assert waiting(sender) == 1
    assert POLICY.calls_at_once > 2
