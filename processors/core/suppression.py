"""Addresses that get no mail from an inbox, and the open replies that this concerns.

Owns: the suppression list of each inbox, and the index from an address to its open replies.
May not: judge a mail. An address counts as given, plus tag included: another tag is another list.
"""

from collections.abc import Iterable
from itertools import islice
from typing import Final

from processors.core.decide_outputs import order
from processors.core.tables import Row, Table
from processors.core.turn import Turn
from schemas.commands import Withdraw
from schemas.keys import InboxId, ReplyKey

# Replies to one address that are open at once; caps keep them below this by orders of magnitude.
# Above it, the rest stays open here and is refused when a person looks at it.
MOST_WITHDRAWN: Final = 1_000


class Suppression(Row, frozen=True, kw_only=True):
    """No mail goes to this address from this inbox. Kept until it is taken back."""

    reason: str
    since_ms: int


class OpenReply(Row, frozen=True):
    """A reply to this address was asked for and is not known to have left."""


SUPPRESSED: Final = Table(0x14, Suppression)  # inbox, address
OPEN: Final = Table(0x16, OpenReply)  # inbox, address, reply key
_OPEN_REPLY: Final = OpenReply()


def has_suppressed(turn: Turn, inbox: str, addresses: Iterable[str]) -> bool:
    """Whether no mail may go to one of these addresses."""
    return any(turn.get(SUPPRESSED, inbox, address) is not None for address in addresses)


def suppress(turn: Turn, inbox: InboxId, addresses: Iterable[str], *, reason: str) -> None:
    """Suppress the addresses, and withdraw what is open to those that were not suppressed yet."""
    for address in addresses:
        if turn.get(SUPPRESSED, inbox, address) is None:
            row = Suppression(reason=reason, since_ms=turn.now_ms)
            turn.put(SUPPRESSED, row, inbox, address)
            _withdraw(turn, inbox, address, reason=reason)


def take_back(turn: Turn, inbox: str, addresses: Iterable[str]) -> None:
    """Let mail go to these addresses again."""
    for address in addresses:
        turn.delete(SUPPRESSED, inbox, address)


def note_open(turn: Turn, inbox: str, addresses: Iterable[str], *, reply_key: str) -> None:
    """A reply that may reach these addresses was asked for."""
    for address in addresses:
        turn.put(OPEN, _OPEN_REPLY, inbox, address, reply_key)


def note_closed(turn: Turn, inbox: str, addresses: Iterable[str], *, reply_key: str) -> None:
    """That reply has left, or is forgotten."""
    for address in addresses:
        turn.delete(OPEN, inbox, address, reply_key)


def _withdraw(turn: Turn, inbox: InboxId, address: str, *, reason: str) -> None:
    # A reply key's length stands in two bytes before it.
    keys = [
        rest[2:].decode() for rest, _ in islice(turn.rows(OPEN, inbox, address), MOST_WITHDRAWN)
    ]
    for key in keys:
        turn.delete(OPEN, inbox, address, key)
        withdraw = Withdraw(reply_key=ReplyKey(key), inbox_id=inbox, reason=f"suppressed: {reason}")
        turn.emit_marked(order(withdraw, turn, ce_id=key))
