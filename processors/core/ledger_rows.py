"""What SEND keeps: a small row a reply; its ask, text and exact request; gates and indexes.

Owns: the tables of `send-state` and what stands in them.
May not: write them. The ledger's rows are written by ledger_index.py alone.
"""

from enum import StrEnum
from typing import Final

from processors.core.tables import Row, Table
from schemas.commands import AskReply, Said
from schemas.events import Position, Where
from schemas.keys import InboxId, MessageId, ReplyKey, ThreadKey


class State(StrEnum):
    """Where a reply stands."""

    QUEUED = "queued"
    ASKED = "asked"
    HELD_REVIEW = "held-review"
    HELD_DRAFT = "held-draft"
    HELD_REPLAY = "held-replay"
    HELD_UNCERTAIN = "held-uncertain"
    DUE = "due"
    POSTING = "posting"
    SENT = "sent"
    REFUSED = "refused"
    GIVEN_UP = "given-up"


OPEN: Final = frozenset({State.ASKED, State.DUE, State.POSTING})
HELD: Final = frozenset(
    {State.HELD_REVIEW, State.HELD_DRAFT, State.HELD_REPLAY, State.HELD_UNCERTAIN}
)
SETTLED: Final = frozenset({State.SENT, State.REFUSED, State.GIVEN_UP})


class LedgerRow(Row, frozen=True, kw_only=True):
    """One reply. Its key names it for ever; everything else says how far it has come."""

    reply_key: ReplyKey
    state: State
    inbox_id: InboxId
    thread_key: ThreadKey
    message_id: MessageId
    provider: str
    workspace: str
    account: str
    outcome: str  # as asked for: send, hold or draft
    position: Position
    ask_number: int = 0
    asked_at_ms: int = 0
    is_slow: bool = False  # its writer was late: it lost its place in the thread
    hold_number: int = 0
    text_hash: str = ""
    claims: int = 0  # ever made; numbers the attempt ids
    attempts: int = 0  # spent; a pause or a stop spends none
    attempt: str = ""  # the claim in force
    was_attempted: bool = False  # a call was made that may have had an effect
    is_unsure: bool = False  # a call was made whose outcome nobody knows
    key_from_ms: int = 0  # when the provider may first have heard our idempotency key
    is_rejected: bool = False  # the provider refused this very text
    must_look: bool = False  # no more posts: look for our reply at the provider
    conflicts: int = 0
    lookups: int = 0
    counted_ms: int = 0  # time in due and posting, less what was stopped or paused
    counts_from_ms: int = 0  # 0: no time counts now
    wake_at_ms: int = 0  # 0: no timer
    lane: str = ""  # the gate at which a due reply waits, or ""
    lane_at_ms: int = 0
    settled_at_ms: int = 0
    is_swept: bool = False  # ask, text and request are gone
    reason: str = ""
    withdrawn: str = ""  # why, when it came while a call was under way
    is_erased: bool = False  # its content goes as soon as it is settled, and into no record
    provider_message_id: str | None = None
    provider_thread_id: str | None = None
    delivery: str = ""  # what the provider said later; not the same as sent
    delivery_at_ns: int = 0

    @property
    def is_open(self) -> bool:
        """Whether the next reply of its thread waits for this one."""
        return self.state in OPEN and not self.is_slow


class AskRow(Row, frozen=True, kw_only=True):
    """The ask as it came, and where it stands in the log."""

    command: AskReply
    origin: Where


class TextRow(Row, frozen=True, kw_only=True):
    """The text that came first, and where it stands in the log."""

    text: str
    html: str | None
    ask_number: int
    origin: Where
    needs_approval: bool = False
    summary: str | None = None
    evidence: bytes | None = None


class Request(Row, frozen=True, kw_only=True):
    """The exact request. Stored before the first attempt: a repeat has the same bytes."""

    method: str
    path: str
    query: str
    content_type: str
    body: bytes


class Pointer(Row, frozen=True, kw_only=True):
    """An index entry: which reply, and its place in its thread."""

    reply_key: ReplyKey
    position: Position


class GateRow(Row, frozen=True, kw_only=True):
    """A gate that replies pass on their way out: an account, or a kill switch."""

    closed_until_ms: int = 0  # 0: open
    probe: str = ""  # the one reply that was let through to try
    streak: int = 0  # closings in a row
    failures: int = 0  # calls in a row that failed, of different replies
    last_failed: str = ""
    reason: str = ""


class Slots(Row, frozen=True, kw_only=True):
    """How many calls of this partition are claimed and not settled."""

    taken: int = 0


LEDGER: Final = Table(0x10, LedgerRow)
ASKS: Final = Table(0x11, AskRow)
TEXTS: Final = Table(0x12, TextRow)
REQUESTS: Final = Table(0x13, Request)
QUEUED_REPLIES: Final = Table(0x14, Pointer)  # inbox, thread, time, sequence, reply key
OPEN_REPLIES: Final = Table(0x15, Pointer)  # inbox, thread, reply key
LANES: Final = Table(0x16, Pointer)  # gate, since when, reply key
GATES: Final = Table(0x17, GateRow)
SLOTS: Final = Table(0x18, Slots)
SAID: Final = Table(0x19, Said)  # inbox, thread, when sent, reply key: what we said lately
