"""The second act: what comes once customers have our replies.

Owns: facts about our replies, and mails that need a reply's id or that must come after a fact.
May not: know the scenario's first act but by names of its mails.
"""

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from ops.demo.entries import HELP, Clock, Entry, NoMessage, NotOwed, Owed, received, told


class Reply(Struct, frozen=True, kw_only=True):
    """One of our mails, as the provider's mailbox shows it."""

    message_id: str
    thread_id: str
    recipients: tuple[str, ...]


# Whose replies are used below, by the names of the mails that they answer.
USED: Final = ("question", "bob", "cara", "dan")


def facts(replies: Mapping[str, Reply], clock: Clock) -> tuple[Entry, ...]:
    """What the provider says of our replies: sent, delivered, opened; and three that failed."""
    return (
        *(
            _fact(f"message.{kind}", replies["question"], clock)
            for kind in ("sent", "delivered", "opened")
        ),
        _fact(
            "message.bounced",
            replies["bob"],
            clock,
            recipients=[{"address": "bob@b.example", "status": "bounced"}],
        ),
        _fact("message.complained", replies["cara"], clock, recipients=["cara@c.example"]),
        # It names nobody: whom the reply went to must be known here.
        _fact("message.rejected", replies["dan"], clock),
    )


def after_the_facts(replies: Mapping[str, Reply], clock: Clock) -> tuple[Entry, ...]:
    """Mails that are judged by what is known of our replies by now."""
    ours = replies["question"]
    return (
        Entry(
            name="answers our reply",
            payload=_answer("thanks", ours, clock, sender="Customer <question@customer.example>"),
            expected=Owed(2),
        ),
        Entry(
            name="our reply comes back",
            payload=_answer("echo", ours, clock, message_id=ours.message_id, sender=f"Us <{HELP}>"),
            expected=NotOwed("own-message-id"),
            # The provider has this message already: it is ours.
            mail={},
        ),
        Entry(
            name="our reply comes back through a forwarder",
            payload=_answer("forwarded", ours, clock, headers={"X-Loop": HELP}),
            expected=NotOwed("own-loop-mark"),
        ),
        Entry(
            name="written before what was answered",
            payload=received("too-late", clock, 0, count=2, thread_id="thd_question"),
            expected=NotOwed("newer-asked"),
        ),
        *(
            Entry(
                name=f"{name} writes again",
                payload=received(f"{name}-again", clock, 21, sender=f"{name} <{name}@{domain}>"),
                expected=NotOwed("suppressed"),
            )
            for name, domain in (("bob", "b.example"), ("cara", "c.example"), ("dan", "d.example"))
        ),
    )


def _fact(event_type: str, reply: Reply, clock: Clock, **differences: Any) -> Entry:
    name = f"our reply: {event_type}"
    payload = told(
        event_type,
        f"ours-{event_type}",
        clock,
        minutes=20,
        message_id=reply.message_id,
        thread_id=reply.thread_id,
        **differences,
    )
    return Entry(name=name, payload=payload, expected=NoMessage(), comes_first=True)


def _answer(name: str, reply: Reply, clock: Clock, **differences: Any) -> dict[str, Any]:
    named = {"in_reply_to": reply.message_id, "references": [reply.message_id]}
    if differences.get("message_id") == reply.message_id:
        named = {}
    return received(name, clock, 21, count=3, thread_id=reply.thread_id, **{**named, **differences})
