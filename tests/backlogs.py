"""Many replies at once, for tests of SEND's gates."""

from processors.core.ledger_rows import LANES
from processors.core.outcomes import Answer, Stopped
from schemas.commands import AUDIT_ENTRY
from schemas.topics import Topic
from tests.sending import (
    SECOND_MS,
    Sender,
    a_sender,
    a_text,
    an_ask,
)

DOWN = Answer(status=503)
NO_AUTH = Answer(status=401)
STOPPED = Stopped(switch="sends")


def a_backlog(count: int, **policy: object) -> Sender:
    """So many replies of different threads, as many of them posting as may."""
    sender = a_sender(**policy)
    for nth in range(count):
        sender.give(an_ask(f"m{nth}", thread=f"thd_{nth}"))
        sender.give(a_text(f"m{nth}"))
    return sender


def states(sender: Sender, count: int) -> list[str | None]:
    """Where they all stand."""
    return [sender.state(f"m{nth}") for nth in range(count)]


def gate_moves(sender: Sender) -> list[tuple[str, str | None]]:
    """Which gates closed and opened, in that order."""
    entries = sender.told(Topic.AUDIT, AUDIT_ENTRY)
    return [(each.subject, each.after) for each in entries if each.what == "gate moved"]


def waiting(sender: Sender) -> int:
    """How many replies wait in lanes."""
    return len(list(sender.desk.turn().rows(LANES)))


def serve(sender: Sender, outcome: object, *, for_ms: int) -> int:
    """Give every call this outcome for so long; how many there were."""
    until_ms, calls = sender.desk.now_ms + for_ms, 0
    while sender.desk.now_ms < until_ms:
        while sender.calls:
            calls += 1
            sender.answer(outcome)
        sender.wait(SECOND_MS)
    return calls
