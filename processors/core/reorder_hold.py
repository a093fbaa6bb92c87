"""Holding events: what is written when one is held, and taken away when it goes.

Owns: the rows of held events, their timers, and the count of them in a partition.
May not: decide that an event is held, or that it goes.
"""

from collections.abc import Iterator
from operator import attrgetter

import msgspec

from processors.core.reorder_rows import (
    HELD,
    HELD_EVENTS,
    THREADS,
    TOTALS,
    Held,
    Rules,
    Thread,
    ThreadRow,
    Totals,
    Wait,
    must_get,
    thread_row,
)
from processors.core.tables import prefix_end
from processors.core.turn import Timer, Turn
from schemas.events import THREAD_EVENT, ThreadEvent

_by_place = attrgetter("place")


def next_number(turn: Turn) -> int:
    """The number of the next event to be held."""
    return (turn.get(TOTALS) or Totals()).next_number


def put_held(turn: Turn, row: Held, content: bytes) -> None:
    """Hold the event under its number, which must be the next one, and set its timer."""
    totals = turn.get(TOTALS) or Totals()
    turn.put(HELD, row, row.number)
    turn.put(HELD_EVENTS, content, row.number)
    turn.set_timer(_alarm(row))
    turn.put(
        TOTALS,
        Totals(
            count=totals.count + 1,
            size_bytes=totals.size_bytes + row.size_bytes,
            next_number=row.number + 1,
            oldest=totals.oldest if totals.count else row.number,
        ),
    )


def take_held(turn: Turn, row: Held) -> ThreadEvent:
    """The held event; it is no longer held and its timer is off."""
    content = must_get(turn, HELD_EVENTS, row.number)
    turn.delete(HELD, row.number)
    turn.delete(HELD_EVENTS, row.number)
    turn.cancel_timer(_alarm(row))
    totals = must_get(turn, TOTALS)
    turn.put(
        TOTALS,
        msgspec.structs.replace(
            totals, count=totals.count - 1, size_bytes=totals.size_bytes - row.size_bytes
        ),
    )
    return THREAD_EVENT.decode(content)


def drop_held(turn: Turn, number: int) -> Thread:
    """Take the event out of its thread without a word. Returns the thread."""
    held = must_get(turn, HELD, number)
    take_held(turn, held)
    row = thread_row(turn, held.thread)
    held_on = tuple(each for each in row.held if each != number)
    turn.put(THREADS, msgspec.structs.replace(row, held=held_on), *held.thread)
    return held.thread


def wait_on(turn: Turn, row: Held, *, until_ms: int) -> None:
    """Let the event wait on behind an announced mail, whose time is then its own."""
    later = msgspec.structs.replace(row, alarm=Wait.FETCH, alarm_ms=until_ms)
    turn.put(HELD, later, row.number)
    turn.set_timer(_alarm(later))


def held_of(turn: Turn, thread: ThreadRow) -> list[Held]:
    """The thread's held events in order of place."""
    return sorted((must_get(turn, HELD, number) for number in thread.held), key=_by_place)


def oldest_above_caps(turn: Turn, rules: Rules) -> Iterator[Held]:
    """The partition's longest held event, again and again until it holds no more than it may."""
    while _is_above(totals := must_get(turn, TOTALS), rules):
        start, stop = HELD.key(totals.oldest), prefix_end(HELD.key())
        oldest = HELD.decode(next(value for _, value in turn.state.scan(start, stop)))
        turn.put(TOTALS, msgspec.structs.replace(totals, oldest=oldest.number))
        yield oldest


def _is_above(totals: Totals, rules: Rules) -> bool:
    return totals.count > rules.hold_per_partition or totals.size_bytes > rules.hold_bytes


def _alarm(row: Held) -> Timer:
    return Timer(row.alarm_ms, row.alarm, str(row.number))
