"""What DECIDE remembers, and for how long.

Owns: its tables other than caps and thread logs, and the sweep that forgets.
May not: hold a mail's words: those are in the thread log. Rows age by stream time.
"""

from typing import Final

from processors.core import caps, thread_log
from processors.core.expiry import is_empty, look_again, take_due
from processors.core.suppression import note_closed, note_open
from processors.core.tables import Row, Table
from processors.core.turn import Timer, Turn

HOUR_MS: Final = 3600 * 1000
DAY_MS: Final = 24 * HOUR_MS

SWEEP: Final = "sweep"
SWEEP_EVERY_MS: Final = 10 * 60 * 1000
# A few milliseconds' work in one turn. When more is due, the next batch goes on with it, so
# forgetting keeps up with any rate at which rows are written.
SWEEP_ROWS: Final = 2_000
# A mail dated at the very edge of the horizon may have been written up to five minutes "before"
# its own time (clocks ahead are clamped from there on); an hour is ample.
SLACK_MS: Final = HOUR_MS
# A delivery fact may overtake the news that the reply was sent.
EARLY_KEPT_MS: Final = 7 * DAY_MS
# Delivered, bounced, complained, rejected: a message has a handful, unless a provider repeats.
MOST_EARLY: Final = 8


class Decided(Row, frozen=True, kw_only=True):
    """What was decided about one message, so that it is decided once.

    `targets` are the addresses that an answer may reach. An erased message is never told again.
    """

    inbox_id: str
    thread_key: str
    outcome: str
    rule: str
    is_asked: bool
    decided_at_ms: int
    written_ms: int
    targets: tuple[str, ...] = ()
    is_erased: bool = False


class Own(Row, frozen=True, kw_only=True):
    """A message that an inbox of ours sent, and the reply that it was, where that is known."""

    reply_key: str | None = None


class DeliveryNews(Row, frozen=True, kw_only=True):
    """What a delivery fact says. `is_aimed`: it named the addresses that it is about."""

    kind: str
    occurred_at_ns: int
    event_key: str
    is_suppressing: bool
    is_aimed: bool


class Early(Row, frozen=True, kw_only=True):
    """Facts about a message that is not known to be a reply of ours yet, in order of arrival."""

    news: tuple[DeliveryNews, ...] = ()


DECIDED: Final = Table(0x10, Decided)  # reply key
OWN: Final = Table(0x15, Own)  # inbox, message id
EARLY: Final = Table(0x17, Early)  # inbox, message id


def remember_decided(
    before: Decided | None, row: Decided, turn: Turn, *, reply_key: str, keep_ms: int
) -> None:
    """Keep what was decided, in place of what was decided before."""
    if before is None:
        look_again(turn, DECIDED.key(reply_key), at_ms=turn.stream_ms + keep_ms)
    turn.put(DECIDED, row, reply_key)
    if row.is_asked:
        note_open(turn, row.inbox_id, row.targets, reply_key=reply_key)


def remember_own(turn: Turn, row: Own, *, inbox: str, message_id: str, keep_ms: int) -> None:
    """Keep a message of ours; a known reply is not made unknown again."""
    known = turn.get(OWN, inbox, message_id)
    if known is None:
        look_again(turn, OWN.key(inbox, message_id), at_ms=turn.stream_ms + keep_ms)
    if known is None or row.reply_key is not None:
        turn.put(OWN, row, inbox, message_id)


def remember_early(turn: Turn, news: DeliveryNews, *, inbox: str, message_id: str) -> None:
    """Keep a fact until it is known whose message it is about. The first eight are kept."""
    known = turn.get(EARLY, inbox, message_id)
    if known is None:
        look_again(turn, EARLY.key(inbox, message_id), at_ms=turn.stream_ms + EARLY_KEPT_MS)
    before = () if known is None else known.news
    turn.put(EARLY, Early(news=(*before, news)[:MOST_EARLY]), inbox, message_id)


def set_sweep(turn: Turn) -> None:
    """Have the stage sweep at the next of the fixed times. Safe to repeat."""
    due_ms = (turn.now_ms // SWEEP_EVERY_MS + 1) * SWEEP_EVERY_MS
    turn.set_timer(Timer(due_ms, SWEEP, SWEEP))


def sweep(turn: Turn, *, keep_ms: int) -> int:
    """Forget what is old enough, a bounded part of it; the rest goes on at once. How many went."""
    due = take_due(turn, limit=SWEEP_ROWS)
    gone = sum(_forgotten(turn, key, keep_ms) for key in due)
    if len(due) == SWEEP_ROWS:
        turn.set_timer(Timer(turn.now_ms, SWEEP, SWEEP))
    elif not is_empty(turn):
        set_sweep(turn)
    return gone


def _forgotten(turn: Turn, key: bytes, keep_ms: int) -> bool:
    value = turn.state.get(key)
    if value is None:
        return False
    kept_until_ms = _kept_until(key[0], value, turn, keep_ms=keep_ms)
    if kept_until_ms > turn.stream_ms:
        look_again(turn, key, at_ms=kept_until_ms)
        return False
    if key[0] == thread_log.THREADS.tag:
        thread_log.forget_thread(turn, thread_log.THREADS.decode(value), key)
    elif key[0] == DECIDED.tag:
        decided, reply_key = DECIDED.decode(value), key[len(DECIDED.key("")) :].decode()
        note_closed(turn, decided.inbox_id, decided.targets, reply_key=reply_key)
    turn.state.put(key, None)
    return True


def _kept_until(tag: int, value: bytes, turn: Turn, *, keep_ms: int) -> int:
    if tag == DECIDED.tag:
        return DECIDED.decode(value).written_ms + keep_ms
    if tag == thread_log.THREADS.tag:
        return thread_log.THREADS.decode(value).last_ms + keep_ms
    if tag == caps.COUNTS.tag:
        count = caps.COUNTS.decode(value)
        return turn.stream_ms + count.window_ms if caps.used(count, now_ms=turn.now_ms) else 0
    # Rows that are written once: their first look is their last.
    return 0
