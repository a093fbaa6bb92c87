"""Mail in its mailbox: threads, pages, replies."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec import structs

from ops.standin.compose import (
    Placing,
    Recipients,
    parse_body,
    placing_of_reply,
    recipients_of_reply,
    recipients_of_reply_all,
)
from ops.standin.listing import list_query, page_of
from ops.standin.mailbox import Limits, Mailbox, MailboxFull
from ops.standin.messages import Message
from ops.standin.refusals import ApiError

T0 = datetime(2026, 11, 30, 10, tzinfo=UTC)


def a_message(**members: Any) -> Message:
    """A customer's mail that differs in these members."""
    plain = Message(
        inbox_id="help@x.example",
        thread_id="thd_1",
        message_id="<m1@y.example>",
        labels=("received",),
        timestamp=T0,
        sender="Ann <ann@y.example>",
        to=("help@x.example",),
        size=5,
        updated_at=T0,
        created_at=T0,
    )
    return structs.replace(plain, **members)


def a_mailbox(*messages: Message, limits: Limits | None = None) -> Mailbox:
    """A mailbox that received these, in this order."""
    mailbox = Mailbox(limits=limits or Limits())
    for message in messages:
        mailbox.put_received(message)
    return mailbox


def test_mail_is_ordered_by_its_own_time() -> None:
    """A mail with an old date sorts before newer ones, whenever it arrived (1.7)."""
    late = a_message(message_id="<old>", timestamp=T0 - timedelta(hours=1))
    mailbox = a_mailbox(a_message(), late)

    shown = [stored.message.message_id for stored in mailbox.inbox("help@x.example")]

    assert shown == ["<old>", "<m1@y.example>"]


def test_equal_times_page_without_loss() -> None:
    """Mails of one instant are told apart by arrival, so no page skips one."""
    ids = [f"<{number}>" for number in range(7)]
    mails = a_mailbox(*(a_message(message_id=each) for each in ids)).inbox("help@x.example")
    params = {"limit": "3", "ascending": "true"}

    pages = [page_of(mails, list_query(params))]
    while token := pages[-1].next_page_token:
        pages.append(page_of(mails, list_query({**params, "page_token": token})))

    assert [message.message_id for page in pages for message in page.messages] == ids


def test_token_of_the_other_direction_is_refused() -> None:
    """A token that is used the wrong way round would skip mail in silence."""
    mails = a_mailbox(a_message(), a_message(message_id="<m2>")).inbox("help@x.example")
    token = page_of(mails, list_query({"limit": "1"})).next_page_token

    with pytest.raises(ApiError, match="other direction"):
        list_query({"ascending": "true", "page_token": str(token)})


@pytest.mark.parametrize("written", ["<m1@y.example>", "m1@y.example", " <m1@y.example> "])
def test_thread_is_found_by_any_spelling_of_the_id(written: str) -> None:
    """Threads compare ids without brackets and outer space."""
    assert a_mailbox(a_message()).thread_of("help@x.example", [written]) == "thd_1"


def test_thread_is_not_found_from_another_inbox() -> None:
    """A Message-ID is the sender's choice: it means nothing in another inbox."""
    assert a_mailbox(a_message()).thread_of("sales@x.example", ["<m1@y.example>"]) is None


@pytest.mark.parametrize(
    "limits", [Limits(messages=1), Limits(size_bytes=9)], ids=["messages", "bytes"]
)
def test_full_mailbox_takes_no_more(limits: Limits) -> None:
    """Either limit refuses the next mail and keeps those that are in."""
    mailbox = a_mailbox(a_message(), limits=limits)

    with pytest.raises(MailboxFull):
        mailbox.check_room(a_message(message_id="<m2>"))


@pytest.mark.parametrize(
    ("parent", "references"),
    [
        ({"references": ("<a>", "<b>")}, ("<a>", "<b>", "<m1@y.example>")),
        ({"in_reply_to": "<a>"}, ("<a>", "<m1@y.example>")),
        ({"in_reply_to": "<a> <b>"}, ("<m1@y.example>",)),
        ({}, ("<m1@y.example>",)),
    ],
    ids=["references", "one-parent", "two-parents", "none"],
)
def test_references_of_a_reply_follow_the_rfc(
    parent: dict[str, Any], references: tuple[str, ...]
) -> None:
    """RFC 5322 3.6.4, each of its cases."""
    assert placing_of_reply(a_message(subject="Re: Hi", **parent)) == Placing(
        thread_id="thd_1",
        subject="Re: Hi",
        in_reply_to="<m1@y.example>",
        references=references,
    )


@pytest.mark.parametrize(
    ("parent", "body", "expected"),
    [
        ({}, b"{}", ("Ann <ann@y.example>",)),
        ({"reply_to": ("desk@y.example",)}, b"{}", ("desk@y.example",)),
        ({}, b'{"to": "bob@y.example"}', ("bob@y.example",)),
        ({"labels": ("sent",), "to": ("ann@y.example",)}, b"{}", ("ann@y.example",)),
    ],
    ids=["from", "reply-to", "explicit", "our-own-mail"],
)
def test_reply_goes_to_whom_the_parent_names(
    parent: dict[str, Any], body: bytes, expected: tuple[str, ...]
) -> None:
    """Recipients are derived unless the body names them (providers.md 1.5)."""
    recipients = recipients_of_reply(a_message(**parent), parse_body("reply", body))

    assert recipients == Recipients(to=expected)


def test_reply_all_leaves_the_inbox_out() -> None:
    """An inbox that writes to itself would answer itself."""
    parent = a_message(to=("Help <HELP@x.example>", "bob@y.example"), cc=("ann@y.example",))

    assert recipients_of_reply_all(parent) == Recipients(
        to=("Ann <ann@y.example>",), cc=("bob@y.example",)
    )
