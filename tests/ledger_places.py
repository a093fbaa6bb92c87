"""Every place where a reply can stand, and every command that can come to it there."""

from collections.abc import Callable
from typing import Any

from processors.core.outcomes import Answer, Failure, Looked
from schemas.commands import (
    AnyCommand,
    ApproveReply,
    DeliveryFact,
    DenyReply,
    ReleaseReply,
    SettleReply,
    Withdraw,
)
from tests.sending import (
    DAY_MS,
    HOUR_MS,
    INBOX,
    SENT,
    SERVER_ERROR,
    Sender,
    a_sender,
    a_text,
    an_ask,
    key_of,
)

TIMED_OUT = Answer(failure=Failure.TIMEOUT)
NOT_THERE = Looked(answer=Answer(status=200))


def unknown() -> Sender:
    """Nothing has come yet."""
    return a_sender()


def queued() -> Sender:
    """Behind another reply of its thread."""
    return a_sender(an_ask("m0"), an_ask("m1", nth=1))


def asked() -> Sender:
    """WRITE has been asked."""
    return a_sender(an_ask())


def held_for_review() -> Sender:
    """The text came, and says that a person must see it."""
    return a_sender(an_ask(), a_text(needs_approval=True))


def held_as_draft() -> Sender:
    """The route says that texts are drafts."""
    return a_sender(an_ask(outcome="draft"), a_text())


def held_by_a_replay() -> Sender:
    """Only a replay asked."""
    sender = a_sender()
    sender.give(an_ask(), mark="replay-1")
    return sender


def held_uncertain() -> Sender:
    """Posted without an answer, and not found afterwards."""
    sender = a_sender(an_ask(), a_text())
    sender.answer(TIMED_OUT)
    sender.desk.now_ms += DAY_MS
    sender.fire()
    sender.answer(NOT_THERE)
    return sender


def due_never_attempted() -> Sender:
    """All calls are taken."""
    return a_sender(an_ask("m0", thread="thd_0"), a_text("m0"), an_ask(), a_text(), calls_at_once=1)


def due_attempted() -> Sender:
    """Posted, and to be tried again."""
    sender = a_sender(an_ask(), a_text())
    sender.answer(SERVER_ERROR)
    return sender


def posting() -> Sender:
    """The call is under way."""
    return a_sender(an_ask(), a_text())


def sent() -> Sender:
    """The provider took it."""
    sender = posting()
    sender.answer(SENT)
    return sender


def refused() -> Sender:
    """A person said no."""
    sender = held_for_review()
    sender.deny()
    return sender


def rejected() -> Sender:
    """The provider will not take it."""
    sender = posting()
    sender.answer(Answer(status=422))
    return sender


def given_up_without_text() -> Sender:
    """No writer ever answered."""
    sender = asked()
    sender.wait(25 * HOUR_MS)
    return sender


PLACES: dict[str, Callable[[], Sender]] = {
    "unknown": unknown,
    "queued": queued,
    "asked": asked,
    "held-review": held_for_review,
    "held-draft": held_as_draft,
    "held-replay": held_by_a_replay,
    "held-uncertain": held_uncertain,
    "due-never-attempted": due_never_attempted,
    "due-attempted": due_attempted,
    "posting": posting,
    "sent": sent,
    "refused": refused,
    "rejected": rejected,
    "given-up-without-text": given_up_without_text,
}

NAMED: dict[str, Any] = {"reply_key": key_of("m1"), "inbox_id": INBOX}


def _held(sender: Sender) -> dict[str, Any]:
    row = sender.row()
    return NAMED | {"hold_number": row.hold_number, "by": "ann"}


def _seen(sender: Sender) -> dict[str, Any]:
    return _held(sender) | {"text_hash": sender.row().text_hash}


ORDERS: dict[str, Callable[[Sender], AnyCommand]] = {
    "ask": lambda _: an_ask(),
    "text": lambda _: a_text(),
    "text-to-review": lambda _: a_text(needs_approval=True),
    "approve": lambda sender: ApproveReply(**_seen(sender)),
    "deny": lambda sender: DenyReply(**_seen(sender)),
    "release": lambda sender: ReleaseReply(**_held(sender)),
    "settle-sent": lambda sender: SettleReply(verdict="sent", **_held(sender)),
    "settle-retry": lambda sender: SettleReply(verdict="retry", **_held(sender)),
    "withdraw": lambda _: Withdraw(reason="opt-out", **NAMED),
    "erase": lambda _: Withdraw(reason="erased", **NAMED),
    "delivery": lambda _: DeliveryFact(kind="message.delivered", occurred_at_ns=1, **NAMED),
}
