"""What is known about one mail when it is judged, and the questions that rules ask of it.

Owns: Findings, and one predicate a question. Each is total over whatever a stranger wrote.
May not: read state, a clock or a setting; all of that was looked up before.
"""

import re
from collections.abc import Callable
from typing import Final

import msgspec

from processors.core import signals
from processors.core.addresses import Address, is_among, parse_address
from processors.core.signals import Signals
from schemas.events import Verdicts

# RFC 5321 6.3: a hundred hops is a loop.
MOST_HOPS: Final = 100

_MACHINES: Final = frozenset(
    {"mailer-daemon", "mailerdaemon", "postmaster", "listserv", "majordomo"}
)
_NO_REPLY: Final = re.compile(r"(?:^|[._-])(?:no|do[._-]?not)[._-]?reply(?:$|[._0-9-])")
# The form of reply keys: those of another installation are a loop as well.
_REPLY_KEY: Final = re.compile(r"reply-[0-9a-f]{64}")


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """All that is known about one mail.

    `route` is None for an inbox without one. `signals` is None where the provider gave no header
    fields. `is_screened`: the provider drops mail that fails authentication and labels mail that
    has none, so that its silence means pass. `report` is the kind of report that it is, if any.
    `full_cap` names the first cap that is reached.
    """

    route: str | None
    sender: Address | None = None
    recipient: Address | None = None
    reply_to: tuple[Address, ...] = ()
    return_path: tuple[Address, ...] = ()
    own: frozenset[str] = frozenset()
    signals: Signals | None = None
    report: str | None = None
    labels: frozenset[str] = frozenset()
    verdicts: Verdicts = Verdicts()
    is_screened: bool = False
    has_clear_reply_to: bool = True
    has_derived_id: bool = False
    has_unknown_body: bool = False
    has_own_id: bool = False
    has_suppressed_address: bool = False
    has_newer_asked: bool = False
    is_too_old: bool = False
    full_cap: str | None = None

    def field(self, name: str) -> tuple[str, ...]:
        """The field's values: none where it is missing, an empty one where it says nothing."""
        if self.signals is None or name not in self.signals:
            return ()
        return self.signals[name] or ("",)


Predicate = Callable[[Findings], bool]


def is_routed(route: str | None) -> Predicate:
    """The inbox's route is this one."""
    return lambda found: found.route == route


def is_full(cap: str) -> Predicate:
    """The cap has no room for one more."""
    return lambda found: found.full_cap == cap


def is_labelled(*labels: str) -> Predicate:
    """The provider put one of these labels on the mail."""
    wanted = frozenset(labels)
    return lambda found: not wanted.isdisjoint(found.labels)


def is_spam(found: Findings) -> bool:
    """The provider calls it spam, by verdict or by label."""
    return found.verdicts.spam == "fail" or "spam" in found.labels


def is_unauthenticated(found: Findings) -> bool:
    """Nobody vouches for the sender.

    Unknown is not pass. A provider that screens would have dropped or labelled such mail; for any
    other, each verdict must be given.
    """
    if found.is_screened:
        return "unauthenticated" in found.labels
    given = found.verdicts
    return not given.dmarc == given.spam == given.virus == "pass"


def is_from_us(found: Findings) -> bool:
    """It comes from one of our inboxes, or its answer would go to one."""
    if found.sender is not None and _is_same(found.sender, found.recipient):
        return True
    return any(is_among(found.own, each) for each in (*_senders(found), *found.reply_to))


def has_our_loop_mark(found: Findings) -> bool:
    """An X-Loop field names one of our inboxes, or holds a reply key."""
    return any(_is_ours(mark, found.own) for mark in signals.loop_marks(found.field("x-loop")))


def is_report(kind: str) -> Predicate:
    """It is a machine's report of this kind."""
    return lambda found: found.report == kind


def has_field(*names: str) -> Predicate:
    """One of these header fields is there, whatever it says."""
    return lambda found: found.signals is not None and any(name in found.signals for name in names)


def says(name: str, reading: Callable[[tuple[str, ...]], bool]) -> Predicate:
    """The header field, read this way, says yes."""
    return lambda found: reading(found.field(name))


def is_marked_by_a_machine(found: Findings) -> bool:
    """A field that automatic mailers add is there and does not say `no`."""
    return any(signals.is_automatic(found.field(name)) for name in signals.MACHINE_FIELDS)


def has_looped(found: Findings) -> bool:
    """It went through as many servers as no honest mail does."""
    return len(found.field("received")) >= MOST_HOPS


def is_from_a_machine(found: Findings) -> bool:
    """From or Return-Path is a daemon, a list's manager or its owner (RFC 5230 4.6, RFC 3834 2)."""
    return any(
        each.local.partition("+")[0] in _MACHINES
        or each.local.startswith("owner-")
        or each.local.endswith(("-owner", "-request"))
        for each in _senders(found)
    )


def is_no_reply(found: Findings) -> bool:
    """The sender, or the address for answers, says by its name that nobody reads it."""
    senders = () if found.sender is None else (found.sender,)
    return any(
        _NO_REPLY.search(each.local.partition("+")[0]) for each in (*senders, *found.reply_to)
    )


def has_nobody_to_answer(found: Findings) -> bool:
    """From is missing, or is not one address with a domain."""
    return found.sender is None or not found.sender.domain


def _senders(found: Findings) -> tuple[Address, ...]:
    return found.return_path if found.sender is None else (found.sender, *found.return_path)


def _is_same(one: Address, other: Address | None) -> bool:
    return other is not None and one.mailbox == other.mailbox


def _is_ours(mark: str, own: frozenset[str]) -> bool:
    if mark in own or _REPLY_KEY.fullmatch(mark) is not None:
        return True
    address = parse_address(mark)
    return address is not None and is_among(own, address)
