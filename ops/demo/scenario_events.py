"""Events that are no mail of a customer, each type that AgentMail names, and one that it does not.

Owns: one entry a type; and the mail that a person released after it was held back.
May not: expect a mail for an event.
"""

from typing import Any, Final

from ops.demo.entries import Clock, Entry, NoMessage, Owed, received, told
from ops.standin.payloads import BUILDERS

RELEASED: Final = "<released@customer.example>"

# Types that come instead of message.received; each is about a mail of its own.
INSTEAD: Final = ("spam", "blocked", "unauthenticated")
# Types about mails of ours; this act's are about mails that we know nothing of.
ABOUT_OURS: Final = ("sent", "delivered", "opened", "bounced", "complained", "rejected")
# Types that name no message; the scan and its end are about the mail that is released below.
OTHERS: Final = tuple(
    name for name in BUILDERS if name.startswith(("calendar.", "domain.", "message.security."))
)


def other_events(clock: Clock) -> tuple[Entry, ...]:
    """One entry a type. The override comes before the mail that it releases, as it may."""
    return (
        *(_event(f"message.received.{kind}", clock, **_stranger(kind)) for kind in INSTEAD),
        *(_event(f"message.{kind}", clock, **_unknown(kind)) for kind in ABOUT_OURS),
        *(_event(name, clock, message_id=RELEASED) for name in OTHERS),
        Entry(
            name="a type that nobody has heard of",
            payload={
                **told("message.opened", "unheard", clock),
                "event_type": "message.archived",
            },
            expected=NoMessage(),
        ),
        Entry(
            name="released by a person",
            payload=received("released", clock, 4, labels=["received", "agent-armor-held"]),
            expected=Owed(),
        ),
    )


def _event(event_type: str, clock: Clock, **differences: Any) -> Entry:
    name = event_type.removeprefix("message.")
    payload = told(event_type, name, clock, **differences)
    return Entry(name=event_type, payload=payload, expected=NoMessage())


def _stranger(kind: str) -> dict[str, Any]:
    return {"message_id": f"<{kind}@elsewhere.example>", "thread_id": f"thd_{kind}"}


def _unknown(kind: str) -> dict[str, Any]:
    return {"message_id": f"<not-ours-{kind}@shop.example>", "thread_id": f"thd_not-ours-{kind}"}
