"""The demo's last page: what was expected, what was seen, and every difference.

Owns: rows and words, for a terminal of 80 columns.
May not: judge.
"""

from typing import Any

from rich.table import Table

from ops.demo.decisions import expected_rules, seen_rules
from ops.demo.entries import Entry, NoMessage, NotOwed, Owed, TurnedAway
from ops.demo.play import Played

Row = tuple[str, str, str]


def table_of(played: Played) -> Table:
    """Two columns of numbers, expected and seen, one row each thing that is counted."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("")
    table.add_column("expected", justify="right")
    table.add_column("seen", justify="right")
    for row in rows_of(played):
        table.add_row(*row)
    return table


def rows_of(played: Played) -> list[Row]:
    """Every row. What has no expectation beside it stands alone."""
    entries, verdict, answers = played.entries, played.verdict, played.answers
    rules = expected_rules(entries)
    seen = seen_rules(entries, played.decisions)
    return [
        ("deliveries", "", str(answers.accepted + answers.turned_away)),
        ("  of which the door turned away", "", str(answers.turned_away)),
        ("events", "", str(len(events_of(entries)))),
        ("  of which about no customer's mail", "", str(_count(entries, NoMessage))),
        ("messages", "", str(len(messages_of(entries)))),
        *(_row(f"  not answered: {rule}", rules[rule], seen[rule]) for rule in sorted(rules)),
        ("posts of the reply whose sender was killed", "2", str(played.killed_tries)),
        _row("replies owed, mails in the provider's mailbox", verdict.owed, verdict.mails),
        _row("threads, answered in order", verdict.threads, verdict.threads_in_order),
    ]


def summary(played: Played) -> dict[str, Any]:
    """The same for scripts."""
    verdict = played.verdict
    return {
        "kept": not played.differences,
        "differences": list(played.differences),
        "deliveries": played.answers.accepted + played.answers.turned_away,
        "turned_away": played.answers.turned_away,
        "events": len(events_of(played.entries)),
        "messages": len(messages_of(played.entries)),
        "not_answered": dict(seen_rules(played.entries, played.decisions)),
        "owed": verdict.owed,
        "mails": verdict.mails,
        "threads": verdict.threads,
        "threads_in_order": verdict.threads_in_order,
        "seconds": round(played.seconds, 1),
    }


def events_of(entries: tuple[Entry, ...]) -> set[tuple[str, str, str]]:
    """The distinct events that the door should take: a conflict's two share an id, not a mail."""
    return {
        (entry.source, entry.event_id, str(entry.message.get("message_id", entry.name)))
        for entry in entries
        if not isinstance(entry.expected, TurnedAway)
    }


def messages_of(entries: tuple[Entry, ...]) -> set[tuple[str, str]]:
    """The distinct messages of customers."""
    return {entry.identity for entry in entries if isinstance(entry.expected, Owed | NotOwed)}


def _count(entries: tuple[Entry, ...], kind: type) -> int:
    return sum(isinstance(entry.expected, kind) for entry in entries)


def _row(name: str, expected: int, seen: int) -> Row:
    return name, str(expected), str(seen)
