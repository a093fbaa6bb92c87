"""REORDER: each mail once, the events of a thread in the order in which they happened.

Owns: where a record goes: to the mails or to the facts; and what a timer does.
May not: drop an unmarked event without saying so.
"""

from typing import Final

import msgspec

from processors.core.reorder_expiry import is_step_due, sweep
from processors.core.reorder_facts import pass_fact
from processors.core.reorder_hold import held_of, wait_on
from processors.core.reorder_identity import (
    Mail,
    Verdict,
    judge,
    known_row,
    note_latest,
    report_duplicate,
    tell_again,
)
from processors.core.reorder_offer import offer
from processors.core.reorder_order import blocked_until_ms, parent_of, place_of, thread_of
from processors.core.reorder_release import let_go, settle
from processors.core.reorder_rows import (
    HELD,
    IDENTITIES,
    THREADS,
    Released,
    Rules,
    Thread,
    thread_row,
)
from processors.core.turn import MAX_VALUE_BYTES, Record, Timer, Turn
from schemas.codec import Codec
from schemas.errors import Refused, TooLarge
from schemas.events import MAIL_KINDS, THREAD_EVENT, Kind, ThreadEvent
from schemas.keys import MAX_ID_BYTES, InboxId, MessageId, ThreadKey

# What an ordered event has beyond its event: words, numbers, and the message id once more.
_ROOM_BYTES: Final = 32 * 1024
# Longer ids do not fit the keys of rows. Normalised ones stay far below.
_MAX_ID_CHARACTERS: Final = 2 * MAX_ID_BYTES
_WITH_IDENTITY: Final = MAIL_KINDS | {Kind.ANNOUNCED}


class Names(msgspec.Struct, frozen=True, gc=False):
    """The part of an event that says which rows it needs."""

    kind: str
    inbox_id: InboxId
    thread_key: ThreadKey | None = None
    message_id: MessageId | None = None
    parents: tuple[MessageId, ...] = ()


_NAMES: Final = Codec[Names](Names)


def on_record(record: Record, turn: Turn, rules: Rules) -> None:
    """Judge one event. Raises DecodeError, Refused or TooLarge for what cannot be passed on."""
    content = record.value
    if content is None:
        return
    if is_step_due(record.offset):
        sweep(turn, rules.horizon_ms)
    event = THREAD_EVENT.decode(content)
    parent = parent_of(event)
    if len(content) > MAX_VALUE_BYTES - _ROOM_BYTES:
        # Said now, while it is this record's own fault: a held event goes in the turn of another.
        raise TooLarge(f"event of {len(content)} bytes")
    if not _fits(event, parent):
        raise Refused(f"an id has more than {_MAX_ID_CHARACTERS} characters")
    if event.kind not in _WITH_IDENTITY:
        pass_fact(turn, event)
        return
    if event.message_id is None:
        raise Refused("a mail without a message id: it could not be told from another")
    mail = Mail(
        event=event,
        record=record,
        content=content,
        message_id=event.message_id,
        thread=Thread(event.inbox_id, thread_of(event, event.message_id)),
        place=place_of(event, event.message_id),
        parent=parent,
    )
    _on_mail(turn, rules, mail)


def on_timer(timer: Timer, turn: Turn, rules: Rules) -> None:
    """Let go the held event whose time has come, unless it waits on behind an announced mail."""
    number = int(timer.id)
    held = turn.get(HELD, number)
    if held is None:
        return
    if number not in thread_row(turn, held.thread).held:
        freed = let_go(turn, held.thread, [(held, Released.FETCH_WAIT)])
        settle(turn, threads=freed)
        return
    settle(turn, threads=[held.thread], fired=number)
    if turn.get(HELD, number) is not None:
        others = held_of(turn, thread_row(turn, held.thread))
        until_ms = blocked_until_ms(others, held, fetch_wait_ms=rules.fetch_wait_ms)
        wait_on(turn, held, until_ms=until_ms)


def keys_of(record: Record) -> tuple[bytes, ...]:
    """The rows that the record will need whatever becomes of it. Raises DecodeError."""
    if record.value is None:
        return ()
    names = _NAMES.decode(record.value)
    parent = parent_of(names)
    if names.message_id is None or not _fits(names, parent):
        return ()
    identity = IDENTITIES.key(names.inbox_id, names.message_id)
    if names.kind not in _WITH_IDENTITY:
        return (identity,)
    thread = THREADS.key(names.inbox_id, thread_of(names, names.message_id))
    if parent is None:
        return (identity, thread)
    return (identity, thread, IDENTITIES.key(names.inbox_id, parent))


def _on_mail(turn: Turn, rules: Rules, mail: Mail) -> None:
    row = known_row(turn, mail, rules.horizon_ms)
    verdict = judge(row, mail.event, mail.record)
    if row is None or verdict is Verdict.NEW:
        offer(turn, rules, mail, before=row)
        return
    note_latest(turn, mail, row)
    if verdict is Verdict.AGAIN:
        tell_again(turn, mail, row)
    elif verdict is Verdict.DUPLICATE:
        report_duplicate(turn, mail, row)


def _fits(names: ThreadEvent | Names, parent: MessageId | None) -> bool:
    return (
        len(names.inbox_id) <= _MAX_ID_CHARACTERS
        and len(names.thread_key or "") <= _MAX_ID_CHARACTERS
        and len(names.message_id or "") <= _MAX_ID_CHARACTERS
        and len(parent or "") <= _MAX_ID_CHARACTERS
    )
