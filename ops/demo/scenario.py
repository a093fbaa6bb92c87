"""The first act: webhooks as AgentMail would send them, every trap with what is expected of it.

Owns: the entries of the first act, in the order in which each is delivered for the first time.
May not: know how they are played, or take an expectation from anything but this page.

Traps are those of AgentMail's contract: shapes that drift, ids with slashes, bodies left out,
one mail in three inboxes, one event at two endpoints, types that come instead of others.
"""

from typing import Any, Final

from ops.demo.entries import (
    ARCHIVE,
    DESK,
    HELP,
    SALES,
    SECOND_SOURCE,
    Clock,
    Entry,
    Expected,
    NotOwed,
    Owed,
    SameMessage,
    received,
)
from ops.demo.scenario_door import at_the_door
from ops.demo.scenario_events import other_events
from ops.demo.scenario_machines import machines
from ops.standin.payloads import ABSENT

Differences = dict[str, Any]

# The mail during whose reply the sender is killed.
FATAL: Final = "killed-in-between"


def first_act(clock: Clock) -> tuple[Entry, ...]:
    """Every entry of the first act."""
    return (
        *people(clock),
        *told_more_than_once(clock),
        *out_of_order(clock),
        *machines(clock),
        *other_events(clock),
        *at_the_door(clock),
    )


def people(clock: Clock) -> tuple[Entry, ...]:
    """Mails of people, in every shape in which they come."""
    answered: dict[str, Differences] = {
        "question": {},
        "html-only": {"text": ABSENT, "extracted_text": ABSENT, "html": "<p>Where is it?</p>"},
        "attachment": {
            "attachments": [{"attachment_id": "att_1", "size": 10, "filename": "a.pdf"}]
        },
        # A path that is not encoded would ask for another message.
        "odd-id": {"message_id": "<shop/orders/pull/1?a=b#c%20d@git.example>"},
        "reply-to": {"reply_to": ["Other <reply-to@elsewhere.example>"]},
        "clock-ahead": {"timestamp": clock.at(24 * 60)},
        "bob": {"sender": "Bob <bob@b.example>"},
        "cara": {"sender": "Cara <cara@c.example>"},
        "dan": {"sender": "Dan <dan@d.example>"},
        FATAL: {},
    }
    return (
        *(
            Entry(name=name, payload=received(name, clock, 1, **differences), expected=Owed())
            for name, differences in answered.items()
        ),
        *_drifting(clock),
        Entry(
            name="held for a person",
            payload=received("desk", clock, 1, inbox_id=DESK),
            expected=NotOwed("route-hold"),
        ),
        Entry(
            name="older than any memory",
            payload=received("ancient", clock, -40 * 24 * 60),
            expected=NotOwed("too-old"),
        ),
    )


def _drifting(clock: Clock) -> tuple[Entry, ...]:
    """The same mail in the shapes of three pages of documentation; at the provider it is one."""
    shapes: dict[str, Differences] = {
        "from-as-list": {
            "sender": ABSENT,
            "from_": ["Eve <from-as-list@customer.example>"],
            "organization_id": "org_1",
            "sort_key": "1",
        },
        "from-as-objects": {
            "sender": [{"name": "Eve", "email": "from-as-objects@customer.example"}],
            "unheard_of": {"deep": [1, 2, 3]},
        },
    }
    # Above 1 MB the webhook leaves the text out; it has to be read from the provider.
    whole = received("text-left-out", clock, 2, size=1_500_000)
    cut = {k: v for k, v in whole["message"].items() if k not in ("text", "extracted_text")}
    return (
        *(
            Entry(
                name=name,
                payload=received(name, clock, 2, **shape),
                expected=Owed(),
                mail=received(name, clock, 2)["message"],
            )
            for name, shape in shapes.items()
        ),
        Entry(
            name="text-left-out",
            payload={**whole, "message": cut},
            expected=Owed(),
            mail=whole["message"],
        ),
    )


def told_more_than_once(clock: Clock) -> tuple[Entry, ...]:
    """One message, told of in more than one way; and one event id for two messages."""
    copies: dict[str, Expected] = {HELP: Owed(), SALES: Owed(), ARCHIVE: NotOwed("route-store")}
    shared: Differences = {
        "message_id": "<to-three@customer.example>",
        "sender": "Ida <ida@i.example>",
    }
    twice = received("two-endpoints", clock, 3)
    return (
        *(
            Entry(
                name=f"to three inboxes: {inbox}",
                payload=received(
                    f"to-three-{inbox}", clock, 3, inbox_id=inbox, to=[*copies], **shared
                ),
                expected=expected,
            )
            for inbox, expected in copies.items()
        ),
        Entry(name="one event at two endpoints", payload=twice, expected=Owed()),
        Entry(
            name="the same at the second endpoint",
            payload=twice,
            expected=SameMessage(),
            source=SECOND_SOURCE,
        ),
        Entry(
            name="told again under another event id",
            payload={**twice, "event_id": "evt_two-endpoints-again"},
            expected=SameMessage(),
        ),
        Entry(name="an event id", payload=received("taken", clock, 3), expected=Owed()),
        Entry(
            name="the same event id for another mail",
            payload=received("taken-too", clock, 3, event_id="evt_taken"),
            expected=Owed(),
        ),
    )


def out_of_order(clock: Clock) -> tuple[Entry, ...]:
    """Threads whose mails arrive in another order than that in which they were written."""
    return (*_by_time(clock), *_correction(clock), *_backwards(clock), *_orphan(clock))


def _by_time(clock: Clock) -> tuple[Entry, ...]:
    """Only timestamps can tell: neither mail names the other."""
    pair: Differences = {"thread_id": "thd_pair", "sender": "Finn <finn@f.example>"}
    first = received("pair-1", clock, 5, **pair)
    second = received("pair-2", clock, 6, count=2, **pair)
    return (
        Entry(name="second of a pair", payload=second, expected=Owed(2), comes_first=True),
        Entry(name="first of a pair", payload=first, expected=Owed(1)),
    )


def _correction(clock: Clock) -> tuple[Entry, ...]:
    mails: Differences = {"thread_id": "thd_order", "sender": "Gil <gil@g.example>"}
    answers = {"in_reply_to": "<order@customer.example>"}
    correction = received("correction", clock, 8, count=2, **answers, **mails)
    return (
        Entry(
            name="correction before its original",
            payload=correction,
            expected=Owed(2),
            comes_first=True,
        ),
        Entry(name="original", payload=received("order", clock, 7, **mails), expected=Owed(1)),
    )


def _backwards(clock: Clock) -> tuple[Entry, ...]:
    """Three mails, each an answer to the one before, delivered from the last to the first."""
    mails: Differences = {
        "thread_id": "thd_row",
        "sender": "Hal <hal@h.example>",
        "inbox_id": SALES,
    }
    ids = [f"<row-{place}@customer.example>" for place in (1, 2, 3)]
    return tuple(
        Entry(
            name=f"{place} of three, backwards",
            payload=received(
                f"row-{place}",
                clock,
                8 + place,
                count=place,
                **({} if place == 1 else {"in_reply_to": ids[place - 2]}),
                references=ids[: place - 1],
                **mails,
            ),
            expected=Owed(place),
            comes_first=place != 1,
        )
        for place in (3, 2, 1)
    )


def _orphan(clock: Clock) -> tuple[Entry, ...]:
    """A parent that is named and never comes: the answer waits for it, but not for ever."""
    payload = received("orphan", clock, 9, count=2, in_reply_to="<lost@customer.example>")
    return (Entry(name="answers what never comes", payload=payload, expected=Owed()),)
