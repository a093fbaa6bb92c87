"""The transition table, walked: each state against each command, live and in a replay."""

from typing import Any

import pytest

from processors.core.ledger import COMMANDS, MOVES, REPLAY_MOVES, Cue
from processors.core.ledger_rows import State
from schemas.headers import DEAD_STAGE
from tests.ledger_places import ORDERS, PLACES, held_by_a_replay, held_uncertain
from tests.sending import (
    key_of,
)

# Where each command leads; what is not listed stays where it is. A due reply is claimed at once.
LEADS: dict[tuple[str, str], str | None] = {
    ("unknown", "ask"): "asked",
    ("queued", "withdraw"): "refused",
    ("queued", "erase"): "refused",
    ("asked", "text"): "posting",
    ("asked", "text-to-review"): "held-review",
    ("asked", "withdraw"): "refused",
    ("asked", "erase"): "refused",
    ("held-review", "approve"): "posting",
    ("held-review", "deny"): "refused",
    ("held-review", "withdraw"): "refused",
    ("held-review", "erase"): "refused",
    ("held-draft", "approve"): "posting",
    ("held-draft", "deny"): "refused",
    ("held-draft", "withdraw"): "refused",
    ("held-draft", "erase"): "refused",
    ("held-replay", "release"): "asked",
    ("held-replay", "withdraw"): "refused",
    ("held-replay", "erase"): "refused",
    ("held-uncertain", "settle-sent"): "sent",
    ("held-uncertain", "settle-retry"): "posting",
    ("due-never-attempted", "withdraw"): "refused",
    ("due-never-attempted", "erase"): "refused",
}
LEADS_IN_A_REPLAY: dict[tuple[str, str], str | None] = {
    ("unknown", "ask"): "held-replay",
    **{pair: to for pair, to in LEADS.items() if pair[1] == "erase"},
}
# These name a hold or a text, which a reply that is unknown does not have.
NEEDS_A_ROW = ("approve", "deny", "release", "settle-sent", "settle-retry")

PAIRS = [
    (place, order)
    for place in PLACES
    for order in ORDERS
    if place != "unknown" or order not in NEEDS_A_ROW
]


@pytest.mark.parametrize(("place", "order"), PAIRS)
def test_live_command_leads_where_the_table_says(place: str, order: str) -> None:
    """Whatever comes in whatever state, only what the design lists happens."""
    sender = PLACES[place]()
    before = sender.state()

    sender.give(ORDERS[order](sender))

    assert sender.state() == LEADS.get((place, order), before)


@pytest.mark.parametrize(("place", "order"), PAIRS)
def test_replayed_command_leads_where_the_table_says(place: str, order: str) -> None:
    """A replay reminds of replies and erases; it never sends one."""
    sender = PLACES[place]()
    before, calls = sender.state(), list(sender.calls)

    sender.give(ORDERS[order](sender), mark="replay-1")

    assert sender.state() == LEADS_IN_A_REPLAY.get((place, order), before)
    assert [call for call in sender.calls if call.id == key_of("m1")] == [
        call for call in calls if call.id == key_of("m1")
    ]


# Facts and erasures are noted wherever a reply stands; a withdrawal during a call is noted too, for
# the case that the call turns out not to have been made.
IGNORED = [
    pair
    for pair in PAIRS
    if pair not in LEADS
    and pair[1] not in ("delivery", "erase")
    and pair != ("posting", "withdraw")
]


@pytest.mark.parametrize(("place", "order"), IGNORED)
def test_ignored_command_changes_nothing_and_tells_nobody(place: str, order: str) -> None:
    """A command that is not listed must leave no row, no timer, no record."""
    sender = PLACES[place]()
    rows, told = dict(sender.desk.state.rows), len(sender.outputs)
    waiting = set(sender.desk.timers.waiting)

    sender.give(ORDERS[order](sender))

    assert sender.desk.state.rows == rows
    assert sender.desk.timers.waiting == waiting
    assert len(sender.outputs) == told


@pytest.mark.parametrize(
    ("place", "wrong"),
    [
        ("held-review", {"hold_number": 7}),
        ("held-review", {"hold_number": 0}),
        ("held-review", {"text_hash": "of another text"}),
        ("held-draft", {"hold_number": 7}),
        ("held-draft", {"text_hash": ""}),
    ],
)
def test_decision_about_another_hold_or_text_is_ignored(place: str, wrong: dict[str, Any]) -> None:
    """Nobody approves or denies what they have not seen."""
    sender = PLACES[place]()

    sender.approve(**wrong)
    sender.deny(**wrong)

    assert sender.state() == place


@pytest.mark.parametrize("behind", [1, -1])
def test_release_and_settlement_of_another_hold_are_ignored(behind: int) -> None:
    """A decision taken from an old list must not count for a later hold."""
    replayed, uncertain = held_by_a_replay(), held_uncertain()

    replayed.release(hold_number=replayed.row().hold_number + behind)
    uncertain.settle("retry", hold_number=uncertain.row().hold_number + behind)
    uncertain.settle("sent", hold_number=uncertain.row().hold_number + behind)

    assert (replayed.state(), uncertain.state()) == ("held-replay", "held-uncertain")


REDRIVEN = ((DEAD_STAGE, b"send"),)
REDRIVES = {("rejected", "text"): "posting", ("given-up-without-text", "ask"): "asked"}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("order", ["ask", "text"])
def test_redriven_command_opens_only_what_was_given_up(place: str, order: str) -> None:
    """A dead letter that comes back must find its reply given up, or behave like any other."""
    sender = PLACES[place]()
    live = LEADS.get((place, order), sender.state())

    sender.give(ORDERS[order](sender), headers=REDRIVEN)

    assert sender.state() == REDRIVES.get((place, order), live)


def test_every_state_can_be_left_or_is_settled() -> None:
    """A state that nothing leads out of must be an end."""
    left = {state for state, _ in MOVES}

    assert {state for state in State if state not in left} == {State.SENT, State.REFUSED}


def test_replay_moves_are_an_ask_and_erasures() -> None:
    """The whole list of what a replay may do to the ledger is short enough to read."""
    cues = {cue for _, cue in REPLAY_MOVES}

    assert cues == {Cue.ASK, Cue.ERASE}


def test_every_command_is_in_the_table() -> None:
    """A command without a row would be accepted and do nothing, in every state."""
    assert {cue for _, cue in MOVES} >= COMMANDS
