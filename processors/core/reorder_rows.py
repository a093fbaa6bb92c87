"""What REORDER remembers: a thread's newest event, who was seen, who is held.

Owns: the rows, their tables and the limits that REORDER works within.
May not: decide. Rows of THREADS, IDENTITIES and COPIES begin with the stream time at which they
were written, because by that they are forgotten; see reorder_expiry.
"""

from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeVar

from processors.core.tables import Part, Row, Table
from processors.core.turn import Turn
from schemas.keys import EventKey, InboxId, MessageId, ThreadKey

RowT = TypeVar("RowT")

# An event's place in its thread, as schemas.events.Position has it: time, sequence, tie.
Place = tuple[int, int, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How long REORDER waits, how much it holds, how long it remembers."""

    grace_ms: int
    predecessor_wait_ms: int
    fetch_wait_ms: int
    hold_per_thread: int
    hold_per_partition: int
    hold_bytes: int
    horizon_ms: int


class Thread(NamedTuple):
    """A thread of an inbox: ids of two inboxes never meet."""

    inbox_id: InboxId
    key: ThreadKey


class State:
    """What is known of a message id."""

    WAITED: Final = "waited"  # another mail names it as its parent; nothing else is known
    KNOWN: Final = "known"  # a fact tells of it; it is not a mail that we received
    ANNOUNCED: Final = "announced"  # its announcement is held, in its place
    HELD: Final = "held"
    SETTLED: Final = "settled"  # emitted
    UNAVAILABLE: Final = "unavailable"  # its announcement was emitted, for want of the mail
    ERASED: Final = "erased"


class Wait:
    """What a held event waits for. Also the kinds of timer."""

    GRACE: Final = "grace"
    PREDECESSOR: Final = "predecessor"
    FETCH: Final = "fetch"


class Released:
    """What let an event through."""

    OPENING: Final = "opening"
    PARENT: Final = "parent"
    GRACE: Final = "grace"
    PREDECESSOR_WAIT: Final = "predecessor-wait"
    FETCH_WAIT: Final = "fetch-wait"
    CAP: Final = "cap"
    LATE: Final = "late"
    FACT: Final = "fact"


class ThreadRow(Row, frozen=True, kw_only=True):
    """A thread: the numbers of its held events, and the newest place that was released.

    The count of held events stands here so that a thread in order costs no scan.
    """

    stream_ms: int
    held: tuple[int, ...] = ()
    newest: Place | None = None


class Identity(Row, frozen=True, kw_only=True):
    """What is known of one message id of an inbox, from its first copy, the winner.

    `waiting` names the threads that hold an event which names this message as its parent.
    """

    stream_ms: int
    number: int | None = None  # of the held event, while it is held
    state: str
    waiting: tuple[ThreadKey, ...] = ()
    event_key: EventKey = EventKey("")
    thread_key: ThreadKey = ThreadKey("")
    occurred_at_ns: int = 0
    sequence: int = -1
    content_hash: str | None = None
    first_topic: str = ""
    first_partition: int = 0
    first_offset: int = 0
    first_at_ms: int = 0
    released: str = ""
    held_ms: int = 0
    late_by_ms: int | None = None
    latest_offset: int = -1  # of the winner's event on the input, which may stand there twice


class Copy(Row, frozen=True, kw_only=True):
    """Another event that carried the same message: an erasure needs the keys of all of them."""

    stream_ms: int


class Held(Row, frozen=True, kw_only=True):
    """A held event without its content, which HELD_EVENTS keeps under the same number.

    `due_ms` ends its own wait; `alarm_ms` and `alarm` are the timer that is set, which is later
    when the event waits behind an announced mail.
    """

    number: int
    inbox_id: InboxId
    thread_key: ThreadKey
    message_id: MessageId
    place: Place
    parent: MessageId | None
    is_opening: bool
    is_clamped: bool
    wait: str
    held_at_ms: int
    due_ms: int
    alarm: str
    alarm_ms: int
    size_bytes: int
    mark: str | None

    @property
    def thread(self) -> Thread:
        """The thread that it is held in."""
        return Thread(self.inbox_id, self.thread_key)


class Totals(Row, frozen=True, kw_only=True):
    """What a partition holds. No held event has a number below `oldest`."""

    count: int = 0
    size_bytes: int = 0
    next_number: int = 1
    oldest: int = 1


class Age(Row, frozen=True, kw_only=True):
    """The first two fields of every row that is forgotten: its stream time, and what it holds."""

    stream_ms: int
    holds: Any = None


class Sweep(Row, frozen=True, kw_only=True):
    """How far the walk over the rows that are forgotten has come."""

    after: bytes


# The first three stand side by side: one walk passes over all of them.
THREADS: Final = Table(0x10, ThreadRow)  # inbox, thread
IDENTITIES: Final = Table(0x11, Identity)  # inbox, message id
COPIES: Final = Table(0x12, Copy)  # inbox, message id, event key
HELD: Final = Table(0x13, Held)  # number, which grows with arrival
HELD_EVENTS: Final = Table(0x14, bytes)  # number
TOTALS: Final = Table(0x15, Totals)
SWEEP: Final = Table(0x16, Sweep)


def must_get(turn: Turn, table: Table[RowT], *parts: Part) -> RowT:
    """A row that another row speaks of. Without it the state is broken, and nothing may go on."""
    row = turn.get(table, *parts)
    if row is None:
        raise LookupError(f"no row {parts} in table {table.tag:#x}, though another names it")
    return row


def thread_row(turn: Turn, thread: Thread) -> ThreadRow:
    """What is known of the thread; nothing, if it is new."""
    return turn.get(THREADS, *thread) or ThreadRow(stream_ms=turn.stream_ms)
