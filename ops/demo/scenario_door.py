"""What the door must not take, each with its status and reason.

Owns: one entry a reason; and the mail whose first delivery is cut short and whose second is whole.
May not: hold what is passed on, but for that mail.
"""

from ops.demo.entries import Clock, Delivered, Entry, Owed, TurnedAway, received
from ops.standin.payloads import ABSENT


def at_the_door(clock: Clock) -> tuple[Entry, ...]:
    """One entry a reason."""
    cut = received("cut", clock, 4)
    nameless = received("nameless", clock, 4)
    return (
        Entry(
            name="truncated, correctly signed",
            payload=cut,
            expected=TurnedAway(400, "not-json"),
            delivered=Delivered.CUT,
        ),
        Entry(name="the same, whole", payload=cut, expected=Owed()),
        Entry(
            name="bad signature",
            payload=received("forged", clock, 4),
            expected=TurnedAway(400, "signature-wrong"),
            delivered=Delivered.FORGED,
        ),
        Entry(
            name="no signature",
            payload=received("unsigned", clock, 4),
            expected=TurnedAway(400, "signature-missing"),
            delivered=Delivered.UNSIGNED,
        ),
        Entry(
            name="an old signature",
            payload=received("stale", clock, 4),
            expected=TurnedAway(400, "signature-too-old"),
            delivered=Delivered.STALE,
        ),
        Entry(
            name="no event id",
            payload={k: v for k, v in nameless.items() if k != "event_id"},
            expected=TurnedAway(400, "no-event-id"),
        ),
        Entry(
            name="no inbox",
            payload=received("no-inbox", clock, 4, inbox_id=ABSENT),
            expected=TurnedAway(400, "no-inbox"),
        ),
        Entry(
            name="an inbox of somebody else",
            payload=received("elsewhere", clock, 4, inbox_id="help@other.example"),
            expected=TurnedAway(400, "wrong-workspace"),
        ),
        Entry(
            name="a source that is not configured",
            payload=received("nowhere", clock, 4),
            expected=TurnedAway(404, "unknown-source"),
            source="nobody",
        ),
    )
