"""What DECIDE learns from facts about our own mail: sent, delivered, bounced, complained, erased.

Owns: which fact suppresses an address, which is told to SEND, and what an erasure forgets here.
May not: count a fact as a mail, or act on a marked one (an erasure excepted).
"""

from collections.abc import Iterable
from itertools import islice
from typing import Final

from msgspec.structs import replace

from processors.core import suppression, thread_log
from processors.core.addresses import parse_address
from processors.core.decide_outputs import order
from processors.core.decide_rows import (
    DECIDED,
    EARLY,
    OWN,
    Decided,
    DeliveryNews,
    Own,
    remember_early,
    remember_own,
)
from processors.core.thread_log import LogRow, ThreadId
from processors.core.turn import Turn
from schemas.commands import DeliveryFact, Withdraw
from schemas.events import Kind, OrderedEvent, ThreadEvent
from schemas.keys import InboxId, ReplyKey, canonical_id
from schemas.keys import reply_key as reply_key_of

DELIVERY_KINDS: Final = frozenset({Kind.DELIVERED, Kind.BOUNCED, Kind.COMPLAINED, Kind.REJECTED})

# `detail` of a suppression.changed fact that takes a suppression back; any other adds one.
REMOVED: Final = "removed"

# One mail of ours reaches at most 50 addresses (providers.md 1.5); more in a fact is not about it.
MOST_ADDRESSES: Final = 50


def learn(ordered: OrderedEvent, turn: Turn, *, keep_ms: int) -> None:
    """Take in one fact. Kinds that DECIDE has no use for change nothing."""
    event = ordered.event
    if event.kind == Kind.ERASED:
        _erase(event, turn)
    elif turn.mark is not None:
        return
    elif event.kind == Kind.REPLY_SENT:
        _reply_sent(ordered, turn, keep_ms)
    elif event.kind == Kind.SENT:
        _sent(event, turn, keep_ms)
    elif event.kind in DELIVERY_KINDS:
        _delivery(event, turn)
    elif event.kind == Kind.SUPPRESSED:
        _suppression(event, turn)


def _reply_sent(ordered: OrderedEvent, turn: Turn, keep_ms: int) -> None:
    event, key = ordered.event, ordered.event.reply_key
    if key is None:
        return
    known = turn.get(DECIDED, key)
    _log_reply(ordered, known, turn, keep_ms=keep_ms)
    if known is not None:
        suppression.note_closed(turn, known.inbox_id, known.targets, reply_key=key)
    _sent(event, turn, keep_ms)
    message_id = _message_id(event)
    early = None if message_id is None else turn.get(EARLY, event.inbox_id, message_id)
    if message_id is not None and early is not None:
        turn.delete(EARLY, event.inbox_id, message_id)
        for news in early.news:
            _tell(news, event.inbox_id, turn, reply_key=key)


def _log_reply(ordered: OrderedEvent, known: Decided | None, turn: Turn, *, keep_ms: int) -> None:
    event = ordered.event
    thread_key = event.thread_key or (None if known is None else known.thread_key)
    if thread_key is None or event.reply_key is None or (known is not None and known.is_erased):
        return
    row = LogRow(
        role=thread_log.US,
        place=thread_log.place_of(ordered.position),
        id=event.reply_key,
        message_id=_message_id(event),
        sender=event.inbox_id,
        text=event.text,
        is_truncated=event.is_truncated,
    )
    of = ThreadId(event.inbox_id, thread_key)
    before = thread_log.thread_row(turn, of)
    after = thread_log.with_message(before, row, turn, of=of)
    thread_log.keep_thread(before, after, turn, of=of, keep_ms=keep_ms)


def _sent(event: ThreadEvent, turn: Turn, keep_ms: int) -> None:
    message_id = _message_id(event)
    if message_id is None:
        return
    row = Own(reply_key=event.reply_key)
    remember_own(turn, row, inbox=event.inbox_id, message_id=message_id, keep_ms=keep_ms)


def _delivery(event: ThreadEvent, turn: Turn) -> None:
    inbox, message_id = event.inbox_id, _message_id(event)
    own = None if message_id is None else turn.get(OWN, inbox, message_id)
    reply_key = event.reply_key or (None if own is None else own.reply_key)
    news = DeliveryNews(
        kind=event.kind,
        occurred_at_ns=event.occurred_at_ns,
        event_key=event.event_key,
        is_suppressing=_is_suppressing(event),
        is_aimed=bool(event.recipients),
    )
    if news.is_suppressing:
        suppression.suppress(turn, inbox, _addresses(event.recipients), reason=news.kind)
    if reply_key is not None:
        _tell(news, inbox, turn, reply_key=reply_key)
    elif message_id is not None:
        remember_early(turn, news, inbox=inbox, message_id=message_id)


def _tell(news: DeliveryNews, inbox: InboxId, turn: Turn, *, reply_key: str) -> None:
    """Tell SEND; what names no address is about those that the reply went to."""
    fact = DeliveryFact(
        reply_key=ReplyKey(reply_key),
        inbox_id=inbox,
        kind=news.kind,
        occurred_at_ns=news.occurred_at_ns,
    )
    turn.emit_marked(order(fact, turn, ce_id=news.event_key))
    known = turn.get(DECIDED, reply_key)
    if news.is_suppressing and not news.is_aimed and known is not None:
        suppression.suppress(turn, inbox, known.targets, reason=news.kind)


def _is_suppressing(event: ThreadEvent) -> bool:
    if event.kind == Kind.BOUNCED:
        # A full mailbox is not a dead one: only what the provider calls permanent counts.
        return (event.detail or "").casefold().startswith("permanent")
    return event.kind in (Kind.COMPLAINED, Kind.REJECTED)


def _suppression(event: ThreadEvent, turn: Turn) -> None:
    addresses = _addresses(event.recipients)
    if event.detail == REMOVED:
        suppression.take_back(turn, event.inbox_id, addresses)
    else:
        suppression.suppress(turn, event.inbox_id, addresses, reason=event.kind)


def _erase(event: ThreadEvent, turn: Turn) -> None:
    if event.message_id is None:
        return
    inbox, key = event.inbox_id, reply_key_of(event.inbox_id, event.message_id)
    known = turn.get(DECIDED, key)
    if known is not None:
        of = ThreadId(inbox, known.thread_key)
        for id_ in (event.message_id, key):
            thread_log.forget_message(turn, id_, of=of)
        suppression.note_closed(turn, inbox, known.targets, reply_key=key)
        turn.put(DECIDED, replace(known, targets=(), is_erased=True), key)
    # Without a mark, which would have SEND drop it: what is erased stays erased in a replay, too.
    withdraw = Withdraw(reply_key=key, inbox_id=inbox, reason="erased")
    turn.emit_marked(order(withdraw, turn, ce_id=key))


def _message_id(event: ThreadEvent) -> str | None:
    return event.message_id or canonical_id(event.provider_message_id or "")


def _addresses(raw: Iterable[str]) -> tuple[str, ...]:
    parsed = map(parse_address, islice(raw, MOST_ADDRESSES))
    return tuple(dict.fromkeys(each.key for each in parsed if each is not None and each.domain))
