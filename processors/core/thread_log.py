"""What was said in a thread, as a writer will see it: one row a message, our replies among them.

Owns: how much is kept (messages a thread, text a message) and how much of it an ask carries.
May not: keep headers, HTML or attachments, or read a word of the text. It is a stranger's.
"""

from bisect import insort
from typing import Final, NamedTuple

from msgspec.structs import replace

from processors.core.expiry import look_again
from processors.core.tables import Row, Table
from processors.core.turn import Turn
from schemas.codec import to_json
from schemas.commands import Said
from schemas.events import Position
from schemas.keys import MessageId
from schemas.topics import THREAD_CONTEXT_LIMIT_BYTES

CUSTOMER: Final = "customer"
US: Final = "us"

# A writer that needs more than the last 64 messages of a thread needs a summary, not a log.
MOST_MESSAGES: Final = 64
# Sixteen thousand characters are eight printed pages; as JSON at most 96 KiB, so that what an ask
# may carry always holds the newest message.
MOST_TEXT_CHARS: Final = 16 * 1024
# RFC 5322 2.1.1: no header line is longer.
MOST_FIELD_CHARS: Final = 998

# A position as it stands in rows; it sorts in the same way.
Place = tuple[int, int, str]


class ThreadId(NamedTuple):
    """A thread of an inbox. The same key in another inbox is another thread."""

    inbox: str
    thread: str


class ThreadRow(Row, frozen=True, kw_only=True):
    """A thread: its messages as (place, id), oldest first, and when it was last spoken in.

    The messages are listed, not scanned for: a scan costs more than all else in a decision.
    `newest_asked` is the place of the newest message that a reply was asked for.
    """

    messages: tuple[tuple[Place, str], ...] = ()
    newest_asked: Place | None = None
    last_ms: int = 0
    is_cut: bool = False


class LogRow(Row, frozen=True, kw_only=True):
    """One message. `id` is its message id, or for a reply of ours its reply key."""

    role: str
    place: Place
    id: str
    message_id: str | None = None
    sender: str | None = None
    subject: str | None = None
    text: str | None = None
    is_late: bool = False
    is_truncated: bool = False


THREADS: Final = Table(0x11, ThreadRow)  # inbox, thread
LOG: Final = Table(0x12, LogRow)  # inbox, thread, id


def place_of(position: Position) -> Place:
    """The position as it stands in rows."""
    return position.occurred_at_ns, position.sequence, position.tie


def thread_row(turn: Turn, thread: ThreadId) -> ThreadRow | None:
    """The thread's row, or None for one that is not known."""
    return turn.get(THREADS, *thread)


def with_message(known: ThreadRow | None, row: LogRow, turn: Turn, *, of: ThreadId) -> ThreadRow:
    """Keep a message's words. Returns the thread's row with it, not yet kept.

    A message is one row, however often it comes. Above MOST_MESSAGES the oldest goes.
    """
    before = known or ThreadRow()
    listed = [each for each in before.messages if each[1] != row.id]
    insort(listed, (row.place, row.id))
    dropped = listed[:-MOST_MESSAGES]
    turn.put(LOG, _cut(row), *of, row.id)
    for _, gone in dropped:
        turn.delete(LOG, *of, gone)
    return replace(
        before,
        messages=tuple(listed[-MOST_MESSAGES:]),
        last_ms=turn.stream_ms,
        is_cut=before.is_cut or bool(dropped),
    )


def with_asked(row: ThreadRow, place: Place) -> ThreadRow:
    """The thread's row once a reply to the message at this place was asked for."""
    newest = place if row.newest_asked is None else max(place, row.newest_asked)
    return replace(row, newest_asked=newest)


def keep_thread(
    known: ThreadRow | None, row: ThreadRow, turn: Turn, *, of: ThreadId, keep_ms: int
) -> None:
    """Write a thread's row in place of the known one, until it has been silent for `keep_ms`."""
    if known is None:
        look_again(turn, THREADS.key(*of), at_ms=turn.stream_ms + keep_ms)
    turn.put(THREADS, row, *of)


def forget_message(turn: Turn, id_: str, *, of: ThreadId) -> None:
    """Take one message out of its thread's log, if it is there."""
    row = thread_row(turn, of)
    if row is not None:
        kept = tuple(each for each in row.messages if each[1] != id_)
        turn.put(THREADS, replace(row, messages=kept), *of)
    turn.delete(LOG, *of, id_)


def forget_thread(turn: Turn, row: ThreadRow, key: bytes) -> None:
    """Drop a thread by its row and its row's key, its log with it."""
    log = LOG.key() + key[len(THREADS.key()) :]
    for _, id_ in row.messages:
        turn.state.put(log + LOG.key(id_)[len(LOG.key()) :], None)
    turn.state.put(key, None)


def log_of(row: ThreadRow, turn: Turn, *, of: ThreadId) -> tuple[tuple[Said, ...], bool]:
    """The thread's log, oldest first, and whether it is whole.

    As JSON at most THREAD_CONTEXT_LIMIT_BYTES; the newest are kept.
    """
    room, kept = THREAD_CONTEXT_LIMIT_BYTES - len(b"[]"), list[Said]()
    for _, id_ in reversed(row.messages):
        logged = turn.get(LOG, *of, id_)
        if logged is None:
            continue
        said = _said(logged)
        room -= len(to_json(said)) + len(b",")
        if room < 0:
            break
        kept.append(said)
    return tuple(reversed(kept)), len(kept) == len(row.messages) and not row.is_cut


def _cut(row: LogRow) -> LogRow:
    is_short = row.text is None or len(row.text) <= MOST_TEXT_CHARS
    return replace(
        row,
        sender=row.sender and row.sender[:MOST_FIELD_CHARS],
        subject=row.subject and row.subject[:MOST_FIELD_CHARS],
        text=row.text and row.text[:MOST_TEXT_CHARS],
        is_truncated=row.is_truncated or not is_short,
    )


def _said(row: LogRow) -> Said:
    occurred_at_ns, sequence, tie = row.place
    return Said(
        role=row.role,
        position=Position(occurred_at_ns=occurred_at_ns, sequence=sequence, tie=tie),
        message_id=None if row.message_id is None else MessageId(row.message_id),
        sender=row.sender,
        subject=row.subject,
        text=row.text,
        is_late=row.is_late,
        is_truncated=row.is_truncated,
    )
