"""Orders about replies, and what came of them.

Owns: the records on `reply-commands`, `writer-requests`, `reply-receipts`, `decisions`, `audit`.
May not: decide anything. A command names a reply by its key and says who gave it.
"""

from typing import Final

import msgspec

from schemas.codec import Codec
from schemas.events import Position, ThreadEvent
from schemas.keys import InboxId, MessageId, ReplyKey, ThreadKey


class Said(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One message of a thread as a writer sees it, oldest first. Text is a stranger's words."""

    role: str  # "customer" or "us"
    position: Position
    message_id: MessageId | None = None
    sender: str | None = None
    subject: str | None = None
    text: str | None = None
    is_late: bool = False
    is_truncated: bool = False  # the text was cut


class Command(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="command"):
    """What all orders share: the reply, and the inbox in whose partition its ledger row lives."""

    reply_key: ReplyKey
    inbox_id: InboxId


class AskReply(Command, frozen=True, kw_only=True, omit_defaults=True, tag="AskReply"):
    """DECIDE: this message is owed a reply. `outcome` is send, hold or draft."""

    outcome: str
    rule: str
    thread_key: ThreadKey
    message_id: MessageId
    provider: str
    workspace: str
    account: str
    position: Position
    event: ThreadEvent
    log: tuple[Said, ...] = ()
    is_log_truncated: bool = False  # older messages were left out


class SendReply(Command, frozen=True, kw_only=True, omit_defaults=True, tag="SendReply"):
    """WRITE: the text of a reply. `ask_number` names the request that it answers."""

    ask_number: int
    text: str
    html: str | None = None
    needs_approval: bool = False
    summary: str | None = None
    # Any JSON. Unset where there is none: a raw value beside None cannot be decoded.
    evidence: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class ApproveReply(Command, frozen=True, kw_only=True, omit_defaults=True, tag="ApproveReply"):
    """A person: send the text with this hash."""

    hold_number: int
    text_hash: str
    by: str
    why: str | None = None


class DenyReply(Command, frozen=True, kw_only=True, omit_defaults=True, tag="DenyReply"):
    """A person: never send the text with this hash."""

    hold_number: int
    text_hash: str
    by: str
    why: str | None = None


class ReleaseReply(Command, frozen=True, kw_only=True, omit_defaults=True, tag="ReleaseReply"):
    """An operator: a reply that only a replay asked for may go its way."""

    hold_number: int
    by: str


class SettleReply(Command, frozen=True, kw_only=True, omit_defaults=True, tag="SettleReply"):
    """A person looked: it was sent, or it was not and is to be tried again."""

    hold_number: int
    verdict: str  # "sent" or "retry"
    by: str
    provider_message_id: str | None = None


class Withdraw(Command, frozen=True, kw_only=True, omit_defaults=True, tag="Withdraw"):
    """DECIDE: no longer owed (suppression, erasure), unless it was attempted already."""

    reason: str


class DeliveryFact(Command, frozen=True, kw_only=True, omit_defaults=True, tag="DeliveryFact"):
    """DECIDE: what the provider said later of a reply that was sent."""

    kind: str
    occurred_at_ns: int


AnyCommand = (
    AskReply
    | SendReply
    | ApproveReply
    | DenyReply
    | ReleaseReply
    | SettleReply
    | Withdraw
    | DeliveryFact
)


class WriteRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """SEND asks WRITE for a text. The answer is a SendReply with the same ask number."""

    reply_key: ReplyKey
    ask_number: int
    inbox_id: InboxId
    thread_key: ThreadKey
    message_id: MessageId
    workspace: str
    event: ThreadEvent
    log: tuple[Said, ...] = ()
    is_log_truncated: bool = False


class Decision(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was decided about one message, and by which rule. Holds no content."""

    reply_key: ReplyKey
    inbox_id: InboxId
    message_id: MessageId
    thread_key: ThreadKey
    event_key: str
    outcome: str  # store, notify, draft, send, hold, quarantine, refuse
    rule: str
    position: Position
    decided_at_ms: int
    is_replay: bool = False


class Receipt(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What came of a reply: sent, refused, held, uncertain, given-up. Holds no content.

    `hold_number` and `text_hash` are what a person's decision on a held reply must name.
    """

    reply_key: ReplyKey
    inbox_id: InboxId
    message_id: MessageId
    state: str
    at_ms: int
    attempts: int = 0
    hold_number: int = 0
    text_hash: str | None = None
    provider_message_id: str | None = None
    provider_thread_id: str | None = None
    reason: str | None = None


class AuditEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who did what to which subject, when, before, after and why. Holds no content."""

    subject: str
    what: str
    at_ms: int
    by: str
    before: str | None = None
    after: str | None = None
    why: str | None = None


class Switch(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A switch on `control`, e.g. sends stopped for all or for one inbox."""

    name: str
    is_on: bool
    by: str
    at_ms: int
    why: str | None = None


COMMAND: Final = Codec[AnyCommand](AnyCommand)
WRITE_REQUEST: Final = Codec[WriteRequest](WriteRequest)
DECISION: Final = Codec[Decision](Decision)
RECEIPT: Final = Codec[Receipt](Receipt)
AUDIT_ENTRY: Final = Codec[AuditEntry](AuditEntry)
SWITCH: Final = Codec[Switch](Switch)
