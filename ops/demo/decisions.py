"""What the pipeline says it has decided: for the table, beside what the scenario expects.

Owns: reading `decisions`.
May not: count for the verdict.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from ops.demo.entries import Entry, NotOwed, Owed
from ops.run.tail import Tail
from schemas.commands import DECISION
from schemas.keys import canonical_id

SILENCE_S: Final = 0.5
# The rule by which a message that is owed a reply is answered.
OWED_RULE: Final = "route-send"


class Decided(Struct, frozen=True):
    """One decision: the message, the outcome, the rule."""

    inbox_id: str
    message_id: str
    outcome: str
    rule: str


def decided(tail: Tail) -> tuple[Decided, ...]:
    """The decisions that came since the tail was made."""
    decisions = (DECISION.decode(each.value) for each in tail.everything(silence_s=SILENCE_S))
    return tuple(
        Decided(each.inbox_id, each.message_id, each.outcome, each.rule) for each in decisions
    )


def expected_rules(entries: Sequence[Entry]) -> Counter[str]:
    """How many messages are not owed a reply, by the rule that must see it."""
    return Counter(entry.expected.rule for entry in entries if isinstance(entry.expected, NotOwed))


def seen_rules(entries: Sequence[Entry], decisions: Sequence[Decided]) -> Counter[str]:
    """How many of the messages that are not owed a reply were seen by which rule."""
    not_owed = {
        (entry.identity[0], canonical_id(entry.identity[1]))
        for entry in entries
        if isinstance(entry.expected, NotOwed)
    }
    latest = {(each.inbox_id, each.message_id): each.rule for each in decisions}
    return Counter(rule for identity, rule in latest.items() if identity in not_owed)


def notes(entries: Sequence[Entry], decisions: Sequence[Decided]) -> tuple[str, ...]:
    """Messages of which something else was decided than the scenario expects: why mails differ."""
    latest = {(each.inbox_id, each.message_id): each for each in decisions}
    found = []
    for entry in entries:
        expected = entry.expected
        if not isinstance(expected, NotOwed | Owed):
            continue
        seen = latest.get((entry.identity[0], canonical_id(entry.identity[1]) or ""))
        wanted = OWED_RULE if isinstance(expected, Owed) else expected.rule
        if seen is None:
            found.append(f"{entry.name}: nothing was decided, expected {wanted}")
        elif seen.rule != wanted:
            found.append(f"{entry.name}: decided by {seen.rule}, expected {wanted}")
    return tuple(found)
