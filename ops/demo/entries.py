"""The vocabulary of the demo's scenario: a recorded webhook, and what must come of it.

Owns: the shapes, and the few words with which an entry is written down.
May not: know the scenario, or play it.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import Enum
from typing import Any, Final

from msgspec import Struct

from ops.standin.payloads import BUILDERS, Payload, to_body

HELP: Final = "help@shop.example"
SALES: Final = "sales@shop.example"
DESK: Final = "desk@shop.example"
ARCHIVE: Final = "archive@shop.example"
# The inboxes of the demo, with their routes.
ROUTES: Final[Mapping[str, str]] = {HELP: "send", SALES: "send", DESK: "hold", ARCHIVE: "store"}

SOURCE: Final = "agentmail"
SECOND_SOURCE: Final = "agentmail-two"


class Owed(Struct, frozen=True):
    """Exactly one mail answers it, as the `place`-th of its thread."""

    place: int = 1


class NotOwed(Struct, frozen=True):
    """It is kept, and by this rule no mail answers it."""

    rule: str


class NoMessage(Struct, frozen=True):
    """It is no message of a customer, so there is nothing to answer."""


class SameMessage(Struct, frozen=True):
    """It tells of a message that another entry tells of: no mail of its own."""


class TurnedAway(Struct, frozen=True):
    """The door does not take it, with this status and reason."""

    status: int
    reason: str


Expected = Owed | NotOwed | NoMessage | SameMessage | TurnedAway


class Delivered(Enum):
    """How a webhook reaches the door."""

    SIGNED = "signed as it should be"
    FORGED = "signed with another secret"
    UNSIGNED = "without a signature"
    STALE = "signed ten minutes ago"
    CUT = "cut short, and signed as it is then"


class Entry(Struct, frozen=True, kw_only=True):
    """One recorded webhook.

    `mail` is the message as it lies at the provider, where the webhook shows it in another shape.
    `comes_first`: what follows is delivered only when DEDUPE has passed this on, so that the order
    of arrival is this one all the way to REORDER.
    """

    name: str
    payload: Payload
    expected: Expected
    source: str = SOURCE
    delivered: Delivered = Delivered.SIGNED
    mail: Payload | None = None
    comes_first: bool = False

    @property
    def event_id(self) -> str:
        """The event's id; empty where the webhook has none."""
        return str(self.payload.get("event_id", ""))

    @property
    def message(self) -> Payload:
        """The message as the webhook tells it; empty for other events."""
        found = self.payload.get("message", {})
        return found if isinstance(found, dict) else {}

    @property
    def is_message(self) -> bool:
        """Whether it tells of a customer's message that is taken in."""
        return isinstance(self.expected, Owed | NotOwed | SameMessage)

    @property
    def identity(self) -> tuple[str, str]:
        """The inbox, and the message in it."""
        return self.message["inbox_id"], self.message["message_id"]

    @property
    def thread(self) -> tuple[str, str]:
        """The inbox, and the thread in it."""
        return self.message["inbox_id"], self.message["thread_id"]

    @property
    def body(self) -> bytes:
        """The bytes that are signed and posted."""
        whole = to_body(self.payload)
        return whole[: len(whole) * 2 // 3] if self.delivered is Delivered.CUT else whole


class Clock(Struct, frozen=True):
    """The scenario's time: minutes after its begin."""

    begin: datetime

    def at(self, minutes: float) -> str:
        """The instant as the provider writes it."""
        instant = self.begin + timedelta(minutes=minutes)
        return instant.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def received(
    name: str, clock: Clock, minutes: float, *, count: int = 1, **differences: Any
) -> Payload:
    """`message.received` about the mail of this name, the `count`-th message of its thread."""
    fields = {
        "event_id": f"evt_{name}",
        "inbox_id": HELP,
        "message_id": f"<{name}@customer.example>",
        "thread_id": f"thd_{name}",
        "timestamp": clock.at(minutes),
        "sender": f"Customer <{name}@customer.example>",
        "text": f"This is {name}.",
    }
    payload = BUILDERS["message.received"](**{**fields, **differences})
    payload["thread"]["message_count"] = count
    return payload


def told(
    event_type: str, name: str, clock: Clock, *, minutes: float = 4, **differences: Any
) -> Payload:
    """An event of another type."""
    fields = {"event_id": f"evt_{name}", "inbox_id": HELP, "timestamp": clock.at(minutes)}
    return BUILDERS[event_type](**{**fields, **differences})
