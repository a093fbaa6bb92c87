"""What happens to the provider, as values: the lines of its state file.

Owns: every kind of change that must survive a kill.
May not: change anything; the state applies entries, the journal keeps them.
"""

from datetime import datetime
from typing import TypeAlias

from msgspec import Struct

from ops.standin.messages import Message


class AcceptedMail(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A mail that the provider took from its customer and will deliver."""

    sequence: int
    operation: str
    message: Message
    accepted_at: datetime
    answered: str | None = None
    idempotency_key: str | None = None
    fingerprint: str | None = None


class Webhook(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An endpoint of the customer. No event types or no inbox ids: not narrowed by them."""

    webhook_id: str
    url: str
    secret: str
    enabled: bool
    created_at: datetime
    updated_at: datetime
    event_types: tuple[str, ...] = ()
    inbox_ids: tuple[str, ...] = ()
    pod_ids: tuple[str, ...] = ()
    client_id: str | None = None


class InboxOpened(Struct, frozen=True, tag_field="kind", tag="inbox_opened"):
    """The inbox exists from now on."""

    inbox_id: str


class MailReceived(Struct, frozen=True, tag_field="kind", tag="mail_received"):
    """A customer's mail lies in its inbox."""

    message: Message


class MailAccepted(Struct, frozen=True, tag_field="kind", tag="mail_accepted"):
    """A send was accepted: the mail exists, and its key has had its effect."""

    mail: AcceptedMail


class WebhookSaved(Struct, frozen=True, tag_field="kind", tag="webhook_saved"):
    """The webhook is now like this."""

    webhook: Webhook


class WebhookRemoved(Struct, frozen=True, tag_field="kind", tag="webhook_removed"):
    """The webhook is gone."""

    webhook_id: str


class EchoChosen(Struct, frozen=True, tag_field="kind", tag="echo_chosen"):
    """Accepted mails now lead to events of these types."""

    event_types: tuple[str, ...]


class ClockAdvanced(Struct, frozen=True, tag_field="kind", tag="clock_advanced"):
    """Time was moved forward."""

    seconds: float


class Reset(Struct, frozen=True, tag_field="kind", tag="reset"):
    """Everything before this is forgotten."""


Entry: TypeAlias = (
    InboxOpened
    | MailReceived
    | MailAccepted
    | WebhookSaved
    | WebhookRemoved
    | EchoChosen
    | ClockAdvanced
    | Reset
)
