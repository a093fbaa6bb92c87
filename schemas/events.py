"""The common event: what a provider said, in our words, and its place in a thread.

Owns: the records on `thread-events`, `ordered-events`, `fetch-requests` and `duplicate-events`.
May not: know a provider. Everything but ids is a stranger's claim: text and html are untrusted.
"""

from typing import Final

import msgspec

from schemas.codec import Codec
from schemas.keys import EventId, EventKey, InboxId, MessageId, SourceName, ThreadKey


class Kind:
    """The kinds of event that stages act on. Any other kind is passed on and never answered."""

    RECEIVED: Final = "message.received"
    RECEIVED_SPAM: Final = "message.received.spam"
    RECEIVED_BLOCKED: Final = "message.received.blocked"
    RECEIVED_UNAUTHENTICATED: Final = "message.received.unauthenticated"
    ANNOUNCED: Final = "message.announced"
    SENT: Final = "message.sent"
    DELIVERED: Final = "message.delivered"
    BOUNCED: Final = "message.bounced"
    COMPLAINED: Final = "message.complained"
    REJECTED: Final = "message.rejected"
    OPENED: Final = "message.opened"
    REPLY_SENT: Final = "reply.sent"
    SUPPRESSED: Final = "suppression.changed"
    ERASED: Final = "message.erased"
    OTHER: Final = "other"


MAIL_KINDS: Final = frozenset({Kind.RECEIVED})


class Where(msgspec.Struct, frozen=True, kw_only=True):
    """One record's address in the log."""

    topic: str
    partition: int
    offset: int


class Attachment(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is said about an attachment. It is never opened."""

    filename: str | None = None
    content_type: str | None = None
    size_bytes: int | None = None
    attachment_id: str | None = None


class Verdicts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """pass, fail or unknown. Unknown is not pass."""

    spf: str = "unknown"
    dkim: str = "unknown"
    dmarc: str = "unknown"
    spam: str = "unknown"
    virus: str = "unknown"


class ThreadEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One event in the common shape, as on `thread-events`.

    `message_id` is in its comparison form (schemas.keys.canonical_id); `provider_message_id` is
    the provider's own spelling, for its API paths. `parents` are the ids that the mail names as
    what it answers, In-Reply-To first, then References from the newest back. `occurred_at_ns` is
    the payload's time as clamped (nanoseconds since 1970, UTC); `time_mark` says why when it is
    not what the payload said: missing, unparsable, future, absurd. `is_opening`: the provider says
    that this mail began its thread (AgentMail: a thread with one message), so nothing precedes it.
    """

    kind: str
    event_key: EventKey
    event_id: EventId
    source: SourceName
    provider: str
    workspace: str
    inbox_id: InboxId
    occurred_at_ns: int
    received_at_ms: int
    thread_key: ThreadKey | None = None
    message_id: MessageId | None = None
    provider_message_id: str | None = None
    provider_thread_id: str | None = None
    is_derived_id: bool = False
    parents: tuple[MessageId, ...] = ()
    time_mark: str | None = None
    sequence: int | None = None
    is_opening: bool = False
    sender: str | None = None
    reply_to: tuple[str, ...] = ()
    recipient: str | None = None
    to: tuple[str, ...] = ()
    cc: tuple[str, ...] = ()
    subject: str | None = None
    text: str | None = None
    html: str | None = None
    # Header fields that rules look at, names in lower case. None: the provider gave no headers,
    # which is not the same as a mail without them.
    signals: dict[str, tuple[str, ...]] | None = None
    labels: tuple[str, ...] = ()
    verdicts: Verdicts = Verdicts()
    attachments: tuple[Attachment, ...] = ()
    content_hash: str | None = None
    is_conflict: bool = False
    is_truncated: bool = False
    # Facts about one of our own replies: the reply, and for bounces and the like who was hit.
    reply_key: str | None = None
    recipients: tuple[str, ...] = ()
    detail: str | None = None
    origin: Where | None = None


class Position(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """An event's place in its thread: payload time, provider's sequence, then id. No index."""

    occurred_at_ns: int
    sequence: int = -1
    tie: str = ""


class OrderedEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An event with its place, as on `ordered-events`: the topic that data teams read.

    `released` says what let it through: opening, parent, grace, predecessor-wait, fetch-wait, cap,
    late, fact. After fetch-wait the event is an announcement whose mail never came: no message id.
    `late_by_ms` is how far behind the newest event already released it is; None when in order.
    """

    event: ThreadEvent
    position: Position
    released: str
    held_ms: int = 0
    late_by_ms: int | None = None
    is_moved: bool = False


class FetchRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An announced mail that must be read from its provider."""

    event: ThreadEvent


class Duplicate(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was dropped and why: same-event, same-message, content-differs, conflict."""

    event_key: EventKey
    reason: str
    origin: Where
    stage: str
    first: Where | None = None
    first_at_ms: int | None = None
    inbox_id: InboxId | None = None
    message_id: MessageId | None = None


THREAD_EVENT: Final = Codec[ThreadEvent](ThreadEvent)
ORDERED_EVENT: Final = Codec[OrderedEvent](OrderedEvent)
FETCH_REQUEST: Final = Codec[FetchRequest](FetchRequest)
DUPLICATE: Final = Codec[Duplicate](Duplicate)
