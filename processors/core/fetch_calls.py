"""What FETCH asks of a provider, and what can come of it.

Owns: the words between the decisions and the reader that makes the call.
May not: decide or call.
"""

from dataclasses import dataclass

from schemas.keys import EventId, InboxId, MessageId


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadCall:
    """Read one message. `spelling` is the provider's own form of its id, for the path.

    `event_id` is the id under which the answer goes on.
    """

    provider: str
    account: str
    inbox_id: InboxId
    message_id: MessageId
    spelling: str
    event_id: EventId


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The message, as the body that a webhook for it would have had."""

    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class NotNow:
    """No answer, or one that may be another the next time."""

    reason: str
    retry_after: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NotThere:
    """The provider does not know the message: not yet, or no more."""

    reason: str
    retry_after: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Never:
    """Asking again cannot help."""

    reason: str


Outcome = Found | NotNow | NotThere | Never
