from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from ops.demo.decisions import Decided, notes
from ops.demo.entries import HELP, Clock, Entry, NotOwed, Owed, TurnedAway, received
from ops.demo.player import answered, expected_answer
from ops.demo.verdict import judged

CLOCK = Clock(datetime(2026, 11, 30, 10, 0, tzinfo=UTC))


def an_entry(name: str, expected: Any, **differences: Any) -> Entry:
    """An entry about a mail of this name."""
    return Entry(name=name, payload=received(name, CLOCK, 1, **differences), expected=expected)


FIRST = an_entry("first", Owed(1), thread_id="thd_1")
SECOND = an_entry("second", Owed(2), thread_id="thd_1")
VACATION = an_entry("vacation", NotOwed("auto-submitted"))
ENTRIES = (FIRST, SECOND, VACATION)


def mail_to(*names: str) -> list[dict[str, Any]]:
    """The provider's mailbox with one mail to each of these."""
    return [{"inbox_id": HELP, "answered": f"<{name}@customer.example>"} for name in names]


@pytest.mark.parametrize(
    ("names", "differences"),
    [
        (["first", "second"], ()),
        (["first"], ("second: no mail",)),
        (["first", "second", "second"], ("second: 2 mails",)),
        (["first", "second", "vacation"], ("vacation: 1 mails, and none is owed",)),
        (
            ["first", "second", "stranger"],
            ("<stranger@customer.example>: 1 mails, and none is owed",),
        ),
        (
            ["second", "first"],
            ("thd_1: answered in the order second, first; expected first, second",),
        ),
    ],
    ids=["kept", "missing", "doubled", "not owed", "unknown", "out of order"],
)
def test_mailbox_is_compared_mail_by_mail(names: list[str], differences: tuple[str, ...]) -> None:
    """Equal sums may hide a mail too many beside one too few."""
    assert judged(ENTRIES, mail_to(*names)).differences == differences


def test_mail_that_answers_nothing_is_one_too_many() -> None:
    """Whatever leaves counts, whether it is a reply or not."""
    mails = [*mail_to("first", "second"), {"inbox_id": HELP}]

    assert judged(ENTRIES, mails).differences == ("nothing: 1 mails, and none is owed",)


def test_note_says_what_was_decided_instead() -> None:
    """A mail is missing because of something; the rule that fired says what."""
    decisions = [
        Decided(HELP, "first@customer.example", "refuse", "list"),
        Decided(HELP, "second@customer.example", "send", "route-send"),
    ]

    assert notes(ENTRIES, decisions) == (
        "first: decided by list, expected route-send",
        "vacation: nothing was decided, expected auto-submitted",
    )


@pytest.mark.parametrize(
    ("entry", "answer"),
    [
        (FIRST, httpx.Response(204)),
        (
            an_entry("cut", TurnedAway(400, "not-json")),
            httpx.Response(400, json={"error": "x", "reason": "not-json"}),
        ),
    ],
    ids=["taken", "turned away"],
)
def test_door_is_held_to_status_and_reason(entry: Entry, answer: httpx.Response) -> None:
    """Turned away for another reason, a trap is not a trap."""
    assert answered(answer) == expected_answer(entry)


def test_answer_without_a_reason_differs_from_every_expected_one() -> None:
    """A proxy's own error page is not our door."""
    assert answered(httpx.Response(400, text="<html>")) == "400 without a reason"
