"""How many replies a thread, a correspondent, a domain and an inbox may cost in a while.

Owns: the counting. A window slides in steps of a twelfth, and a step that has begun counts whole:
no stretch of time as long as the window ever sees more than the limit.
May not: decide what happens at a cap, or count a mail twice; the caller charges once.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from processors.core.expiry import look_again
from processors.core.tables import Part, Row, Table
from processors.core.turn import Turn

CAP_THREAD: Final = "cap-thread"
CAP_CORRESPONDENT: Final = "cap-correspondent"
CAP_DOMAIN: Final = "cap-domain"
CAP_INBOX: Final = "cap-inbox"

# Twelve steps: five minutes of an hour, two hours of a day. A row holds at most thirteen pairs.
STEPS: Final = 12


class Cap(msgspec.Struct, frozen=True, kw_only=True):
    """At most `limit` in any `window_ms`."""

    name: str
    limit: int
    window_ms: int


class Count(Row, frozen=True, kw_only=True):
    """What one subject cost: (step number, how many), oldest first, for steps that still count."""

    window_ms: int
    steps: tuple[tuple[int, int], ...] = ()


class Tally(msgspec.Struct, frozen=True):
    """One subject of a cap: its row's key, and what it has cost so far. None: nothing yet."""

    cap: Cap
    key: bytes
    count: Count | None


COUNTS: Final = Table(0x13, Count)  # cap, inbox, subject


def tally(turn: Turn, cap: Cap, *subject: Part) -> Tally:
    """What this subject has cost so far."""
    key = COUNTS.key(cap.name, *subject)
    value = turn.state.get(key)
    return Tally(cap, key, None if value is None else COUNTS.decode(value))


def first_full(tallies: Iterable[Tally], *, now_ms: int) -> str | None:
    """The name of the first cap with no room for one more, or None."""
    for each in tallies:
        if used(each.count, now_ms=now_ms) >= each.cap.limit:
            return each.cap.name
    return None


def used(count: Count | None, *, now_ms: int) -> int:
    """How many still count at this time."""
    return 0 if count is None else sum(number for _, number in _live(count, now_ms))


def charge(turn: Turn, tallies: Iterable[Tally]) -> None:
    """Count one more for each subject."""
    for each in tallies:
        if each.count is None:
            look_again(turn, each.key, at_ms=turn.stream_ms + 2 * each.cap.window_ms)
        turn.state.put(each.key, COUNTS.encode(_one_more(each, turn.now_ms)))


def _live(count: Count, now_ms: int) -> list[tuple[int, int]]:
    # A step ahead of now was counted before a clock was set back. It counts as now's, so that it
    # neither vanishes nor blocks for longer than one window.
    now = now_ms * STEPS // count.window_ms
    return [(min(step, now), number) for step, number in count.steps if step >= now - STEPS]


def _one_more(each: Tally, now_ms: int) -> Count:
    window_ms = each.cap.window_ms
    now = now_ms * STEPS // window_ms
    if each.count is None:
        return Count(window_ms=window_ms, steps=((now, 1),))
    summed: dict[int, int] = {}
    for step, number in (*_live(each.count, now_ms), (now, 1)):
        summed[step] = summed.get(step, 0) + number
    return Count(window_ms=window_ms, steps=tuple(summed.items()))
