"""The exact request: one path segment an id, an automatic reply's headers, nothing injected."""

import unicodedata
from email.header import decode_header, make_header
from typing import Any
from urllib.parse import unquote

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from processors.core.ledger_rows import TextRow
from processors.core.requests import (
    header_value,
    look_call,
    mail_headers,
    reply_request,
    segment,
    switches_of,
)
from schemas.commands import AskReply
from schemas.events import Where
from schemas.keys import InboxId, MessageId
from tests.sending import INBOX, an_ask

# Records are UTF-8, which has no surrogates.
UNICODE = st.characters(codec="utf-8")
ODD_IDS = (
    "<a/b@x.example>",
    "<a+b@x.example>",
    "<a%2Fb@x.example>",
    "<a?b#c@x.example>",
    "<../../inboxes@x.example>",
    "..",
    ".",
    "a b\u00fc\u2028",
)


def a_text_row(**differences: Any) -> TextRow:
    """A text as it is kept."""
    given: dict[str, Any] = {
        "text": "Hello",
        "html": None,
        "ask_number": 1,
        "origin": Where(topic="reply-commands", partition=0, offset=1),
    }
    return TextRow(**(given | differences))


def an_ask_for(message_id: str, *, inbox: str = INBOX) -> AskReply:
    """An ask for the reply to the mail that the provider spells like this."""
    ask = an_ask()
    event = msgspec.structs.replace(ask.event, provider_message_id=message_id)
    return msgspec.structs.replace(ask, event=event, inbox_id=InboxId(inbox))


def test_request_is_the_reply_of_that_message() -> None:
    """The provider finds thread and recipient from the message that is answered."""
    request = reply_request(an_ask(), a_text_row())

    assert (request.method, request.query, request.content_type) == ("POST", "", "application/json")
    assert request.path == (
        "/v0/inboxes/support%40inbox.example/messages/%3Cm1%40customer.example%3E/reply"
    )
    assert msgspec.json.decode(request.body) == {
        "text": "Hello",
        "headers": {
            "Auto-Submitted": "auto-replied",
            "X-Auto-Response-Suppress": "All",
            "X-Loop": INBOX,
        },
    }


def test_request_carries_html_where_there_is_some() -> None:
    """A text alone stays a text; a draft with HTML goes out with both."""
    request = reply_request(an_ask(), a_text_row(html="<p>Hello</p>"))

    assert msgspec.json.decode(request.body)["html"] == "<p>Hello</p>"


def test_request_is_built_the_same_twice() -> None:
    """The same key with other bytes is a conflict at the provider."""
    assert reply_request(an_ask(), a_text_row()) == reply_request(an_ask(), a_text_row())


@pytest.mark.parametrize("message_id", ODD_IDS)
def test_odd_id_is_one_segment_that_decodes_to_itself(message_id: str) -> None:
    """A slash, dot or question mark in an id must not hit another resource."""
    path = reply_request(an_ask_for(message_id), a_text_row()).path

    segments = path.split("/")
    assert len(segments) == 7
    assert unquote(segments[5]) == message_id
    assert segments[5] not in (".", "..")


def test_id_without_the_providers_spelling_stands_as_it_is_compared() -> None:
    """An older event may lack the spelling; the id is still the id."""
    ask = an_ask()
    event = msgspec.structs.replace(ask.event, provider_message_id=None)

    path = reply_request(msgspec.structs.replace(ask, event=event), a_text_row()).path

    assert path.endswith("/m1%40customer.example/reply")


@given(st.text(min_size=1, alphabet=UNICODE))
def test_any_id_decodes_once_to_itself(value: str) -> None:
    """Ids are opaque: none of their characters may mean anything in a path."""
    encoded = segment(value)

    assert unquote(encoded) == value
    assert "/" not in encoded


@given(st.text())
def test_no_header_value_breaks_a_line(value: str) -> None:
    """Whatever an inbox is called, our mail has exactly the headers that it should have."""
    kept = header_value(value)

    decoded = "" if kept is None else str(make_header(decode_header(kept)))
    kinds = {unicodedata.category(each) for each in decoded}
    assert kinds.isdisjoint({"Cc", "Zl", "Zp"})


@pytest.mark.parametrize(
    "inbox",
    [
        "support\r\nBcc: victim@evil.example",
        "support\x85Bcc: x",
        "support\u2028Bcc: x",
        "=?utf-8?q?Hi=0D=0ABcc:_victim=40evil.example?=",
        "x" * 901,
        " ",
    ],
)
def test_inbox_that_cannot_stand_in_a_header_is_left_out(inbox: str) -> None:
    """A missing X-Loop costs a hint; a broken one would be a header of a stranger's making."""
    headers = mail_headers(an_ask_for("<m@x>", inbox=inbox))

    assert headers == {"Auto-Submitted": "auto-replied", "X-Auto-Response-Suppress": "All"}


@given(st.text(alphabet=UNICODE), st.text(alphabet="\r\n=?ab:"))
def test_strangers_words_reach_neither_headers_nor_recipients(subject: str, sender: str) -> None:
    """The request names no recipient and no subject: both are the provider's to derive."""
    ask = an_ask()
    event = msgspec.structs.replace(ask.event, subject=subject, sender=sender, text=subject)

    request = reply_request(msgspec.structs.replace(ask, event=event), a_text_row())

    assert request == reply_request(ask, a_text_row())


def test_look_up_names_the_thread_as_the_provider_does() -> None:
    """The thread is looked through for a reply to this very message."""
    call = look_call(an_ask(thread="thd/1"))

    assert call is not None
    assert call.path == "/v0/inboxes/support%40inbox.example/threads/thd%2F1"
    assert call.answered_id == MessageId("m1@customer.example")


def test_thread_that_the_provider_did_not_name_cannot_be_looked_up() -> None:
    """Without its name there is nothing to ask for."""
    ask = an_ask()
    event = msgspec.structs.replace(ask.event, provider_thread_id=None)

    assert look_call(msgspec.structs.replace(ask, event=event)) is None


def test_switch_of_an_inbox_is_never_that_of_a_workspace() -> None:
    """An inbox and a workspace may have one name; stopping one must not stop the other."""
    assert switches_of("acme", "acme") == ("sends", "sends/acme", "sends:acme")
