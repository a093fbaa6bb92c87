"""The mailbox: every mail of every inbox, received and sent, in the order that lists show.

Owns: storing, finding and ordering mail, which thread a mail joins, and the limits.
May not: know a request, a key or a webhook; drop a mail once it is in.
"""

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from msgspec import Struct

from ops.standin.entries import AcceptedMail
from ops.standin.messages import Message

# Where a mail stands in its inbox or thread: by its own time, then by arrival.
Place = tuple[datetime, int]


class Limits(Struct, frozen=True, kw_only=True):
    """How much one stand-in keeps. Past either, mail is refused with 507."""

    # Ten minutes of the fastest bench, received and answered, and a tenth of this machine's memory.
    messages: int = 500_000
    size_bytes: int = 2 * 1024**3


class Stored(Struct, frozen=True, kw_only=True):
    """A message at its place."""

    place: Place
    message: Message


class MailboxFull(Exception):
    """A mail that is one too many. Nothing was stored."""


class Mailbox:
    """Mail by inbox, by thread and by id; and the accepted mails in the order of acceptance."""

    def __init__(self, *, limits: Limits) -> None:
        self.limits: Final = limits
        self.accepted: Final[list[AcceptedMail]] = []
        self.received_count = 0
        self._size_bytes = 0
        self._inboxes: dict[str, list[Stored]] = {}
        self._threads: dict[tuple[str, str], list[Stored]] = defaultdict(list)
        self._by_id: dict[tuple[str, str], Message] = {}
        self._thread_by_bare_id: dict[tuple[str, str], str] = {}
        self._inbox_of_thread: dict[str, str] = {}

    def open_inbox(self, inbox_id: str) -> None:
        """Let the inbox exist. Safe to repeat."""
        self._inboxes.setdefault(inbox_id, [])

    def has_inbox(self, inbox_id: str) -> bool:
        """Whether the inbox exists."""
        return inbox_id in self._inboxes

    def check_room(self, message: Message) -> None:
        """Raise MailboxFull unless this message still fits."""
        if len(self._by_id) >= self.limits.messages:
            raise MailboxFull(f"the mailbox holds its limit of {self.limits.messages} messages")
        if self._size_bytes + _weight(message) > self.limits.size_bytes:
            raise MailboxFull(f"the mailbox holds its limit of {self.limits.size_bytes} bytes")

    def put_received(self, message: Message) -> None:
        """Store a customer's mail."""
        self._put(message)
        self.received_count += 1

    def put_accepted(self, mail: AcceptedMail) -> None:
        """Store a mail that was sent from here."""
        self._put(mail.message)
        self.accepted.append(mail)

    def message(self, inbox_id: str, message_id: str) -> Message | None:
        """The message of exactly this id in this inbox."""
        return self._by_id.get((inbox_id, message_id))

    def inbox(self, inbox_id: str) -> Sequence[Stored]:
        """Every mail of the inbox, oldest first."""
        return self._inboxes.get(inbox_id, ())

    def thread(self, inbox_id: str, thread_id: str) -> Sequence[Stored]:
        """Every mail of the thread, oldest first; empty when there is no such thread."""
        return self._threads.get((inbox_id, thread_id), ())

    def inbox_of_thread(self, thread_id: str) -> str | None:
        """The inbox in which a thread of this id was first seen."""
        return self._inbox_of_thread.get(thread_id)

    def thread_of(self, inbox_id: str, message_ids: Iterable[str]) -> str | None:
        """The thread of the first of these messages that the inbox knows, brackets or not."""
        known = (self._thread_by_bare_id.get((inbox_id, bare(each))) for each in message_ids)
        return next((thread_id for thread_id in known if thread_id is not None), None)

    def _put(self, message: Message) -> None:
        stored = Stored(place=(message.timestamp, len(self._by_id)), message=message)
        inbox = self._inboxes.setdefault(message.inbox_id, [])
        insort(inbox, stored, key=_place_of)
        insort(self._threads[message.inbox_id, message.thread_id], stored, key=_place_of)
        self._by_id[message.inbox_id, message.message_id] = message
        self._thread_by_bare_id[message.inbox_id, bare(message.message_id)] = message.thread_id
        self._inbox_of_thread.setdefault(message.thread_id, message.inbox_id)
        self._size_bytes += _weight(message)


def between(mails: Sequence[Stored], *, start: Place | None, end: Place | None) -> Sequence[Stored]:
    """The mails at or after start and before end, in the order given. None is no bound."""
    first = 0 if start is None else bisect_left(mails, start, key=_place_of)
    past = len(mails) if end is None else bisect_left(mails, end, key=_place_of)
    return mails[first:past]


def bare(message_id: str) -> str:
    """An id as threads compare it: without outer space and one pair of angle brackets."""
    trimmed = message_id.strip()
    if trimmed.startswith("<") and trimmed.endswith(">"):
        return trimmed[1:-1].strip()
    return trimmed


def _place_of(stored: Stored) -> Place:
    return stored.place


def _weight(message: Message) -> int:
    return max(message.size, len(message.text or "") + len(message.html or ""))
