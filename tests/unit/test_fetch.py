from typing import Any

import msgspec
import pytest

from processors.core.fetch import (
    FORGET,
    KEPT_MS,
    LEASE,
    LEASE_GRACE_MS,
    RETRY,
    keys,
)
from processors.core.fetch_calls import Found, Never, NotNow, NotThere, Outcome
from processors.core.retry import BACKOFF_CAP_MS
from processors.core.turn import MAX_VALUE_BYTES, Effect, Output, Timer
from schemas.commands import AUDIT_ENTRY
from schemas.errors import DecodeError, Refused
from schemas.events import Kind
from schemas.headers import header
from schemas.keys import InboxId
from schemas.topics import Topic
from tests.fetching import ANNOUNCED, CALL, NAME, PATIENCE, Fetching, written
from tests.turns import NOW_MS


def test_a_request_is_claimed_before_it_is_called() -> None:
    """The call starts only once row, attempt and lease timer are committed."""
    fetching = Fetching()

    turn = fetching.ask()

    assert turn.effects == [Effect("read", NAME, "0-1", CALL, PATIENCE.lease_ms)]
    assert fetching.timers() == [(LEASE, PATIENCE.lease_ms + LEASE_GRACE_MS)]
    assert turn.outputs == []


def test_an_answer_goes_where_everything_from_outside_is() -> None:
    """DEDUPE reads it like any other body, and a replay finds it there."""
    fetching = Fetching()
    effect = fetching.ask().effects[0]

    turn = fetching.answer(effect, Found(body=b"{}"))

    assert written(turn) == [Output(Topic.INBOUND_EVENTS, NAME, b"{}")]
    assert fetching.timers() == [(FORGET, KEPT_MS)]


def test_an_answer_says_whose_it_is_and_keeps_its_announcements_place() -> None:
    """Received when the announcement was: a payload's time is clamped against that."""
    fetching = Fetching()
    effect = fetching.ask().effects[0]
    fetching.desk.now_ms += 5_000

    headers = fetching.answer(effect, Found(body=b"{}")).outputs[0].headers

    names = ("ce_type", "ce_id", "ce_source", "onereply-provider", "onereply-received-at-ms")
    assert [header(headers, name) for name in names] == [
        Kind.RECEIVED,
        NAME.partition("/")[2],
        "/sources/support",
        "agentmail",
        str(NOW_MS),
    ]
    assert header(headers, "onereply-proof") == "api"


@pytest.mark.parametrize("mark", [None, "replay-1"])
def test_a_message_is_read_once(mark: str | None) -> None:
    """However often it is announced or the announcements are read again."""
    fetching = Fetching()
    effect = fetching.ask().effects[0]

    while_pending = fetching.ask(mark=mark)
    fetching.answer(effect, Found(body=b"{}"))
    once_settled = fetching.ask(mark=mark)

    assert (while_pending.effects, once_settled.effects) == ([], [])


def test_a_replay_of_a_forgotten_request_is_read_and_marked() -> None:
    """What it causes must be known for a replay's, or it could be answered."""
    fetching = Fetching()
    effect = fetching.ask(mark="replay-1").effects[0]

    turn = fetching.answer(effect, Found(body=b"{}"))

    assert [each.mark for each in turn.outputs] == ["replay-1"]


@pytest.mark.parametrize("outcome", [NotNow(reason="status 503"), NotThere(reason="status 404")])
def test_a_message_that_cannot_be_had_yet_is_asked_for_again(outcome: Outcome) -> None:
    """A provider that is away, or that announces before it can show."""
    fetching = Fetching()
    effect = fetching.ask().effects[0]

    after_answer = fetching.answer(effect, outcome)
    waits = fetching.timers()
    again = fetching.wait(BACKOFF_CAP_MS)

    assert (after_answer.outputs, after_answer.effects) == ([], [])
    assert [kind for kind, _ in waits] == [RETRY]
    assert [each.attempt for turn in again for each in turn.effects] == ["0-2"]


def test_a_wait_that_the_provider_asks_for_is_kept() -> None:
    """Asking sooner would be refused again."""
    fetching = Fetching()
    effect = fetching.ask().effects[0]

    fetching.answer(effect, NotNow(reason="status 429", retry_after="120"))

    assert fetching.timers() == [(RETRY, 120_000)]


def test_a_call_that_nobody_heard_of_again_is_made_again() -> None:
    """The worker died between claim and answer; reading twice harms nobody."""
    fetching = Fetching()
    fetching.ask()

    lost = fetching.wait(PATIENCE.lease_ms + LEASE_GRACE_MS)
    again = fetching.wait(BACKOFF_CAP_MS)

    assert [each.effects for each in lost] == [[]]
    assert [each.attempt for turn in again for each in turn.effects] == ["0-2"]


def test_an_answer_to_an_attempt_that_was_given_up_does_not_count() -> None:
    """Only the attempt that the row names may settle it."""
    fetching = Fetching()
    effect = fetching.ask().effects[0]
    fetching.wait(PATIENCE.lease_ms + LEASE_GRACE_MS)

    while_waiting = fetching.answer(effect, Found(body=b"{}"))
    fetching.wait(BACKOFF_CAP_MS)
    while_asking = fetching.answer(effect, Found(body=b"{}"))

    assert (while_waiting.outputs, while_asking.outputs) == ([], [])


def test_an_answer_counts_once() -> None:
    """A result that is carried out again finds the row settled."""
    fetching = Fetching()
    effect = fetching.ask().effects[0]
    fetching.answer(effect, Found(body=b"{}"))

    assert fetching.answer(effect, Found(body=b"{}")).outputs == []


def test_an_answer_to_a_forgotten_message_does_not_count() -> None:
    """There is no row that could name its attempt."""
    fetching = Fetching()
    effect = fetching.ask().effects[0]
    fetching.desk.state.rows.clear()

    assert fetching.answer(effect, Found(body=b"{}")).outputs == []


@pytest.mark.parametrize(
    ("outcome", "within_ms", "calls"),
    [
        (Never(reason="status 400"), 0, 1),
        (NotThere(reason="status 404"), PATIENCE.not_there_ms, 2),
        (NotNow(reason="status 503"), PATIENCE.give_up_ms, 289),
    ],
    ids=["never", "not there", "no answer"],
)
def test_what_cannot_be_read_is_given_up_aloud(
    outcome: Outcome, within_ms: int, calls: int
) -> None:
    """Its announcement goes on without it and is never answered; a person must be able to see."""
    fetching = Fetching()

    answers = fetching.try_for(within_ms, outcome)

    entry = AUDIT_ENTRY.decode(answers[-1].outputs[0].value)
    assert (len(answers), sum(len(each.outputs) for each in answers)) == (calls, 1)
    assert (entry.subject, entry.after, entry.by) == (NAME, "unavailable", "fetch")
    assert not isinstance(outcome, Found)
    assert entry.why == outcome.reason


def test_an_answer_above_the_limit_of_a_record_is_given_up() -> None:
    """It would fail the batch of everybody else."""
    fetching = Fetching()
    effect = fetching.ask().effects[0]

    turn = fetching.answer(effect, Found(body=b"x" * (MAX_VALUE_BYTES + 1)))

    assert [each.topic for each in turn.outputs] == [Topic.AUDIT]


def test_an_inbox_without_an_account_reads_nothing() -> None:
    """There is no key to read with."""
    fetching = Fetching()

    turn = fetching.ask(
        msgspec.structs.replace(ANNOUNCED, inbox_id=InboxId("billing@inbox.example"))
    )

    assert (turn.effects, [each.topic for each in turn.outputs]) == ([], [Topic.AUDIT])


@pytest.mark.parametrize(("mark", "attempts"), [(None, ["1-1"]), ("replay-1", [])])
def test_what_was_unavailable_is_tried_again_when_it_is_announced_anew(
    mark: str | None, attempts: list[str]
) -> None:
    """A new announcement is news; a replay is not."""
    fetching = Fetching()
    fetching.answer(fetching.ask().effects[0], Never(reason="status 400"))

    turn = fetching.ask(mark=mark)

    assert [each.attempt for each in turn.effects] == attempts


def test_a_settled_message_is_forgotten_when_the_log_has_forgotten_it() -> None:
    """Its answer is gone from inbound-events by then, so it must be read anew."""
    fetching = Fetching()
    fetching.answer(fetching.ask().effects[0], Found(body=b"{}"))

    fetching.wait(KEPT_MS - 1)
    kept = fetching.row()
    fetching.wait(1)

    assert kept is not None
    assert fetching.row() is None
    assert fetching.desk.state.rows == {}


def test_a_timer_of_an_earlier_attempt_does_nothing() -> None:
    """Each row has one timer, and knows which."""
    fetching = Fetching()
    fetching.ask()
    turn = fetching.desk.turn()
    before = fetching.desk.state.rows.copy()

    fetching.fetch.on_timer(Timer(fetching.desk.now_ms, LEASE, NAME), turn)
    fetching.fetch.on_timer(Timer(fetching.desk.now_ms, LEASE, "fetch:support/gone"), turn)

    assert (fetching.desk.state.rows, turn.effects) == (before, [])


def test_the_oldest_wait_is_not_lost_over_attempts() -> None:
    """Patience counts from the first call, not from the last."""
    fetching = Fetching()
    effect = fetching.ask().effects[0]

    fetching.answer(effect, NotNow(reason="status 503"))
    fetching.wait(BACKOFF_CAP_MS)

    row = fetching.row()
    assert row is not None
    assert (row.since_ms, row.attempts) == (NOW_MS, 2)


@pytest.mark.parametrize(
    "without", [{"message_id": None}, {"provider_message_id": None}], ids=["id", "spelling"]
)
def test_an_announcement_without_a_message_is_refused(without: dict[str, Any]) -> None:
    """There is nothing that could be read by it."""
    with pytest.raises(Refused):
        Fetching().ask(msgspec.structs.replace(ANNOUNCED, **without))


def test_a_request_that_cannot_be_decoded_is_set_aside() -> None:
    """As any record that a stage cannot process."""
    fetching = Fetching()
    record = fetching.desk.record(b"{}")

    with pytest.raises(DecodeError):
        fetching.fetch.on_record(record, fetching.desk.turn(record))


def test_a_deletion_asks_for_nothing() -> None:
    """It deletes what has been taken in long ago."""
    fetching = Fetching()
    record = fetching.desk.record(None)
    turn = fetching.desk.turn(record)

    fetching.fetch.on_record(record, turn)

    assert (turn.effects, keys(record)) == ([], ())


def test_the_row_that_a_request_needs_is_known_before_it_is_decided() -> None:
    """A batch reads its rows in one go."""
    fetching = Fetching()
    fetching.ask()

    assert set(keys(fetching.record())) == set(fetching.desk.state.rows)
