"""The order of a thread: places, what proves one, and which held events may go.

Owns: the rules by which an event is opening, proven, late, or has waited long enough.
May not: read or write state, or know the time but as a value.

Proven means that nothing has to be waited for: the mail opens its thread, or its parent went before
it, and nothing earlier is held. To be the first that we see of its thread is no proof: what came
before it may still be on its way. So a mail without a parent opens its thread when the event says
so, or when it names no thread and is alone in its own; otherwise only timestamps can tell.
"""

from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import Final, Protocol

from processors.core.reorder_rows import Held, Place, Released, Wait
from schemas.events import ThreadEvent
from schemas.keys import MessageId, ThreadKey

_MS_NS: Final = 1_000_000
_AFTER: Final = {
    Wait.GRACE: Released.GRACE,
    Wait.PREDECESSOR: Released.PREDECESSOR_WAIT,
    Wait.FETCH: Released.FETCH_WAIT,
}


class Named(Protocol):
    """What an event says about itself and about others."""

    @property
    def thread_key(self) -> ThreadKey | None:
        """The thread that it belongs to."""

    @property
    def message_id(self) -> MessageId | None:
        """Its own id."""

    @property
    def parents(self) -> tuple[MessageId, ...]:
        """The mails that it answers, the nearest first."""


def place_of(event: ThreadEvent, tie: str) -> Place:
    """The event's place. One without a sequence stands before those of its nanosecond with one."""
    return (event.occurred_at_ns, -1 if event.sequence is None else event.sequence, tie)


def thread_of(event: Named, message_id: MessageId) -> ThreadKey:
    """The thread that the mail belongs to; alone in its own when it names none."""
    return ThreadKey(message_id) if event.thread_key is None else event.thread_key


def parent_of(event: Named) -> MessageId | None:
    """The one mail that it answers. An older ancestor that is known proves nothing about it."""
    for each in event.parents:
        if each != event.message_id:
            return each
    return None


def is_opening(event: ThreadEvent, parent: MessageId | None) -> bool:
    """Whether nothing in its thread can come before this mail, which names this parent."""
    return parent is None and (event.is_opening or event.thread_key is None)


def late_by_ms(place: Place, newest: Place | None) -> int | None:
    """How far behind the newest released place this one is; None when it is not."""
    if newest is None or place >= newest:
        return None
    return (newest[0] - place[0]) // _MS_NS


def ready(
    held: Sequence[Held], is_over: Sequence[bool], known: Callable[[MessageId], bool]
) -> list[tuple[Held, str]]:
    """The first events of a thread that may go, each with what lets it through; all in order.

    An event whose wait is over takes everything earlier with it: released alone it would make
    those late which are here, in hand, and whose order is plain. One with a clamped time goes
    alone: its place is no reason for others to wait less, and it makes none of them late.
    """
    if not any(is_over):
        return _proven(held, known)
    sure = [index for index, row in enumerate(held) if is_over[index] and not row.is_clamped]
    last = sure[-1] if sure else -1
    return [
        (row, _AFTER[row.wait if is_over[index] else held[last].wait])
        for index, row in enumerate(held)
        if index <= last or is_over[index]
    ]


def _proven(held: Sequence[Held], known: Callable[[MessageId], bool]) -> list[tuple[Held, str]]:
    """The shortest run from the front whose order is proven, each parent known or in the run.

    A parent whose clock is ahead stands behind its child. The run goes in order of place even so.
    """
    hopeful = list(takewhile(_can_be_proven, held))
    index_of = {row.message_id: index for index, row in enumerate(hopeful)}
    grounded = _grounded(hopeful, known)
    reach = 0
    for index, row in enumerate(hopeful):
        if row.message_id not in grounded:
            return []
        reach = max(reach, index_of.get(row.parent, index) if row.parent else index)
        if reach == index:
            return [(each, _proof(each)) for each in held[: index + 1]]
    return []


def _can_be_proven(row: Held) -> bool:
    return row.wait != Wait.FETCH and (row.parent is not None or row.is_opening)


def _grounded(held: Sequence[Held], known: Callable[[MessageId], bool]) -> set[MessageId]:
    """Those that open the thread, or go back to such a one or to a known one. A ring does not."""
    answers: dict[MessageId, list[MessageId]] = {}
    found: list[MessageId] = []
    for row in held:
        if row.parent is None or known(row.parent):
            found.append(row.message_id)
        else:
            answers.setdefault(row.parent, []).append(row.message_id)
    for each in found:
        found += answers.get(each, ())
    return set(found)


def _proof(row: Held) -> str:
    return Released.OPENING if row.parent is None else Released.PARENT


def over(held: Sequence[Held], *, now_ms: int, fired: int) -> list[bool]:
    """For each held event in order of place: whether its wait is over.

    `fired` is the number of the event whose timer rang: its time has come, whatever the clock says.
    Behind an announced mail an event waits on, until the mail is here or given up, or until the
    timer rings that bounds this.
    """
    is_behind, answers = False, []
    for row in held:
        has_rung = row.number == fired
        is_over = (has_rung and row.alarm == Wait.FETCH) or (
            not is_behind and (has_rung or row.due_ms <= now_ms)
        )
        answers.append(is_over)
        is_behind = is_behind or (row.wait == Wait.FETCH and not is_over)
    return answers


def blocked_until_ms(held: Sequence[Held], row: Held, *, fetch_wait_ms: int) -> int:
    """When an event that stands behind announced mails goes at the latest."""
    dues = [each.due_ms for each in held if each.wait == Wait.FETCH and each.place < row.place]
    return min(max(dues), row.held_at_ms + fetch_wait_ms)
