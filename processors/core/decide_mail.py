"""One mail as DECIDE sees it: its names, the people in it, and what state says about them.

Owns: all that is looked up before a mail is judged.
May not: judge, or write anything.
"""

from typing import Final

import msgspec

from processors.core import signals, suppression
from processors.core.addresses import Address, parse_address
from processors.core.caps import Tally, first_full, tally
from processors.core.decide_policy import Policy
from processors.core.decide_rows import OWN
from processors.core.findings import Findings
from processors.core.rules import WITHOUT_REPLY
from processors.core.thread_log import Place, ThreadId, ThreadRow, place_of
from processors.core.turn import Turn
from schemas.directory import Directory, Inbox
from schemas.events import OrderedEvent, ThreadEvent
from schemas.keys import MessageId, ReplyKey, ThreadKey, derived_message_id
from schemas.keys import reply_key as reply_key_of

# Providers that drop mail which fails authentication and label mail that has none (providers.md
# 1.2). Of any other provider, a verdict that is not given is not a pass.
SCREENING: Final = frozenset({"agentmail"})

# More are a list, not a person; the mail is held, whoever they are.
MOST_REPLY_TO: Final = 5

_NS_PER_MS: Final = 1_000_000


class Mail(msgspec.Struct, frozen=True, kw_only=True):
    """A mail with the names that everything here goes by.

    `answered` is everybody that an answer might reach: From, and Reply-To where it names another.
    """

    event: ThreadEvent
    ordered: OrderedEvent
    message_id: MessageId
    reply_key: ReplyKey
    thread_key: ThreadKey
    thread: ThreadId
    place: Place
    inbox: Inbox | None
    sender: Address | None
    reply_to: tuple[Address, ...]
    answered: tuple[Address, ...]


def mail_of(ordered: OrderedEvent, directory: Directory) -> Mail:
    """The mail in this event."""
    event = ordered.event
    message_id = event.message_id or derived_message_id(event.event_key)
    reply_key = reply_key_of(event.inbox_id, message_id)
    # Without a thread the mail is a thread of its own.
    thread_key = event.thread_key or ThreadKey(reply_key)
    sender = parse_address(event.sender)
    parsed = map(parse_address, event.reply_to[:MOST_REPLY_TO])
    reply_to = tuple(dict.fromkeys(each for each in parsed if each is not None))
    people = dict.fromkeys((sender, *reply_to))
    return Mail(
        event=event,
        ordered=ordered,
        message_id=message_id,
        reply_key=reply_key,
        thread_key=thread_key,
        thread=ThreadId(event.inbox_id, thread_key),
        place=place_of(ordered.position),
        inbox=_inbox(event, directory),
        sender=sender,
        reply_to=reply_to,
        answered=tuple(each for each in people if each is not None and each.domain),
    )


def tallies_of(mail: Mail, turn: Turn, policy: Policy) -> tuple[Tally, ...]:
    """What the mail's thread, people, domains and inbox have cost; nothing in a replay."""
    if turn.mark is not None:
        return ()
    caps, inbox = policy.caps, mail.event.inbox_id
    people = dict.fromkeys(each.correspondent for each in mail.answered)
    domains = dict.fromkeys(each.domain for each in mail.answered)
    return (
        tally(turn, caps.thread, *mail.thread),
        *(tally(turn, caps.correspondent, inbox, each) for each in people),
        *(tally(turn, caps.domain, inbox, each) for each in domains),
        tally(turn, caps.inbox, inbox),
    )


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What state says about a mail's thread and caps, read once for judging and for writing."""

    thread: ThreadRow | None
    tallies: tuple[Tally, ...]


def findings_of(mail: Mail, seen: Seen, turn: Turn, *, policy: Policy) -> Findings:
    """All that a rule may ask about the mail."""
    event = mail.event
    newest = None if seen.thread is None else seen.thread.newest_asked
    age_ms = turn.stream_ms - event.occurred_at_ns // _NS_PER_MS
    return Findings(
        route=None if mail.inbox is None else mail.inbox.route,
        sender=mail.sender,
        recipient=parse_address(event.recipient),
        reply_to=mail.reply_to,
        return_path=_return_path(event),
        own=policy.own,
        signals=event.signals,
        report=_report(event),
        labels=frozenset(map(str.lower, event.labels)),
        verdicts=event.verdicts,
        is_screened=event.provider in SCREENING,
        has_clear_reply_to=_has_clear_reply_to(event, mail.reply_to),
        has_derived_id=event.is_derived_id or event.message_id is None,
        has_unknown_body=event.is_truncated and event.text is None and event.html is None,
        has_own_id=turn.get(OWN, event.inbox_id, mail.message_id) is not None,
        has_suppressed_address=suppression.has_suppressed(
            turn, event.inbox_id, [each.key for each in mail.answered]
        ),
        has_newer_asked=newest is not None and mail.place < newest,
        is_too_old=age_ms > policy.horizon_ms,
        full_cap=first_full(seen.tallies, now_ms=turn.now_ms),
    )


def _inbox(event: ThreadEvent, directory: Directory) -> Inbox | None:
    """The inbox's entry; None where another workspace speaks for it, or nothing could leave it."""
    inbox = directory.inboxes.get(event.inbox_id)
    if inbox is None or inbox.workspace != event.workspace:
        return None
    can_answer = inbox.account in directory.accounts
    return inbox if can_answer or inbox.route in WITHOUT_REPLY else None


def _return_path(event: ThreadEvent) -> tuple[Address, ...]:
    values = () if event.signals is None else event.signals.get("return-path", ())
    return tuple(each for each in map(parse_address, values) if each is not None)


def _report(event: ThreadEvent) -> str | None:
    values = () if event.signals is None else event.signals.get("content-type", ())
    return signals.report_kind(values)


def _has_clear_reply_to(event: ThreadEvent, parsed: tuple[Address, ...]) -> bool:
    """Whether Reply-To names nobody, or one person in whatever spelling."""
    named = [each for each in event.reply_to if each.strip(" \t<>")]
    if len(named) > MOST_REPLY_TO or len(parsed) > 1:
        return False
    return not named or len(parsed) == 1
