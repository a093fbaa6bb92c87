"""What the door must not take, each with its status and reason.

Owns: one entry a reason; and the mail whose first delivery is cut short and whose second is whole.
May not: hold what is passed on, but for that mail.
"""

from typing import Any, Final

from ops.demo.entries import SOURCE, Clock, Delivered, Entry, Owed, TurnedAway, received
from ops.standin.payloads import ABSENT

# How it is delivered, and the status and reason that the door answers.
DELIVERIES: Final = (
    ("bad signature", Delivered.FORGED, TurnedAway(400, "signature-wrong")),
    ("no signature", Delivered.UNSIGNED, TurnedAway(400, "signature-missing")),
    ("an old signature", Delivered.STALE, TurnedAway(400, "signature-too-old")),
)
# What is wrong with it though it is well signed.
BODIES: Final[tuple[tuple[str, dict[str, Any], TurnedAway], ...]] = (
    ("no event id", {"event_id": ABSENT}, TurnedAway(400, "no-event-id")),
    ("no inbox", {"inbox_id": ABSENT, "to": []}, TurnedAway(400, "no-inbox")),
    (
        "an inbox of somebody else",
        {"inbox_id": "help@other.example"},
        TurnedAway(400, "wrong-workspace"),
    ),
)


def at_the_door(clock: Clock) -> tuple[Entry, ...]:
    """One entry a reason."""
    return (
        *_cut_then_whole(clock),
        *(
            Entry(name=name, payload=_mail(name, clock), expected=expected, delivered=delivered)
            for name, delivered, expected in DELIVERIES
        ),
        *(
            Entry(name=name, payload=_mail(name, clock, **differences), expected=expected)
            for name, differences, expected in BODIES
        ),
        Entry(
            name="a source that is not configured",
            payload=_mail("nowhere", clock),
            expected=TurnedAway(404, "unknown-source"),
            source=f"no-{SOURCE}",
        ),
    )


def _cut_then_whole(clock: Clock) -> tuple[Entry, ...]:
    mail = _mail("cut", clock)
    return (
        Entry(
            name="truncated, correctly signed",
            payload=mail,
            expected=TurnedAway(400, "not-json"),
            delivered=Delivered.CUT,
        ),
        Entry(name="the same, whole", payload=mail, expected=Owed()),
    )


def _mail(name: str, clock: Clock, **differences: Any) -> dict[str, Any]:
    payload = received(name.replace(" ", "-"), clock, 4, **differences)
    return {member: value for member, value in payload.items() if value is not ABSENT}
