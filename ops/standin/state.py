"""The whole state of the provider, changed by entries only.

Owns: applying an entry, keeping it in the journal first, and the counts that waiters look at.
May not: know HTTP. What is no entry (faults, attempts, holds, deliveries) dies with the process.
"""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Final

from msgspec import Struct

from ops.standin.attempts import Attempts
from ops.standin.clock import Clock
from ops.standin.entries import (
    ClockAdvanced,
    EchoChosen,
    Entry,
    InboxOpened,
    MailAccepted,
    MailReceived,
    Reset,
    WebhookRemoved,
    WebhookSaved,
)
from ops.standin.faults import Faults
from ops.standin.idempotency import Answer, Keys
from ops.standin.journal import Journal
from ops.standin.mailbox import Limits, Mailbox
from ops.standin.waits import Holds, Signals
from ops.standin.webhooks import Webhooks


class Setup(Struct, frozen=True, kw_only=True):
    """What a stand-in starts with, and again after a reset."""

    inboxes: tuple[str, ...] = ()
    limits: Limits = Limits()


class State:
    """Mailbox, keys, webhooks, faults and attempts of one stand-in."""

    def __init__(self, setup: Setup, *, clock: Clock, journal: Journal) -> None:
        self.clock: Final = clock
        self.signals: Final = Signals()
        self.holds: Final = Holds(signals=self.signals)
        self._setup = setup
        self._journal = journal
        self.era = 0
        self.echo: tuple[str, ...] = ()
        self._begin()

    def record(self, entry: Entry) -> None:
        """Make it so, for good: written first, then applied, then told to whoever waits."""
        self._journal.append(entry)
        self._apply(entry)
        self.signals.notify()

    def restore(self, entries: Iterable[Entry]) -> None:
        """Apply what a state file holds. Each mail in it means that its key had its effect."""
        for entry in entries:
            self._apply(entry)
        for mail in self.mailbox.accepted:
            if mail.idempotency_key is not None and mail.fingerprint is not None:
                message = mail.message
                answer = Answer(message_id=message.message_id, thread_id=message.thread_id)
                self.keys.complete(
                    mail.idempotency_key, mail.fingerprint, answer=answer, now=mail.accepted_at
                )

    def _apply(self, entry: Entry) -> None:
        match entry:
            case InboxOpened(inbox_id):
                self.mailbox.open_inbox(inbox_id)
            case MailReceived(message):
                self.mailbox.put_received(message)
            case MailAccepted(mail):
                self.mailbox.put_accepted(mail)
            case WebhookSaved(webhook):
                self.webhooks.save(webhook)
            case WebhookRemoved(webhook_id):
                self.webhooks.remove(webhook_id)
            case EchoChosen(event_types):
                self.echo = event_types
            case ClockAdvanced(seconds):
                self.clock.advance(timedelta(seconds=seconds))
            case Reset():
                self._reset()

    def let_go(self) -> None:
        """End every hold and every long poll: the process is about to stop."""
        self.holds.release()
        self.signals.close()

    def counts(self) -> Mapping[str, int]:
        """The numbers that can be waited for."""
        return {
            "accepted": len(self.mailbox.accepted),
            "received": self.mailbox.received_count,
            "attempts": self.attempts.total,
            "answered": self.attempts.ended,
            "held": self.holds.count,
            "polls": self.signals.waiting,
        }

    def _begin(self) -> None:
        self.mailbox = Mailbox(limits=self._setup.limits)
        self.keys = Keys()
        self.webhooks = Webhooks()
        self.faults = Faults()
        self.attempts = Attempts()
        self.echo = ()
        for inbox_id in self._setup.inboxes:
            self.mailbox.open_inbox(inbox_id)

    def _reset(self) -> None:
        # A request that began before the reset must not put its mail into the new mailbox:
        # it compares the era when it comes to accepting.
        self.era += 1
        self.clock.reset()
        self._begin()
        self.holds.release()
