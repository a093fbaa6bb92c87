import json
from typing import Any

import pytest

from processors.providers.agentmail import PAYLOAD_CAP_BYTES, payload_of
from schemas.errors import DecodeError
from schemas.events import Kind
from schemas.keys import InboxId, MessageId
from tests.inbound import read, read_mail
from tests.payloads import INBOX, a_body, a_mail_body, a_message

ANSWER = json.dumps(a_message()).encode()


def test_a_mail_above_the_cap_without_content_is_announced() -> None:
    """The provider left its text out; it must be read before anybody can answer it."""
    event = read_mail(text=None, size=PAYLOAD_CAP_BYTES + 1)

    assert (event.kind, event.is_truncated, event.content_hash) == (Kind.ANNOUNCED, True, None)
    assert event.message_id == "m1@customer.example"


@pytest.mark.parametrize(
    "members",
    [
        {"text": None, "size": PAYLOAD_CAP_BYTES},
        {"text": None, "size": None},
        {"text": None, "size": True},
        {"text": None, "html": "<p>Hello</p>", "size": 5_000_000},
        {"text": "", "size": 5_000_000},
    ],
    ids=["at the cap", "size unknown", "size no number", "html only", "text empty"],
)
def test_a_mail_without_text_is_otherwise_complete(members: dict[str, Any]) -> None:
    """HTML-only mail and empty mail exist, and reading them again would bring nothing."""
    event = read_mail(**members)

    assert (event.kind, event.is_truncated) == (Kind.RECEIVED, False)


def test_truncated_spam_stays_spam() -> None:
    """Nobody answers it, so nobody needs to read it."""
    message = a_message(text=None, size=5_000_000)

    event = read(a_body("message.received.spam", message=message))

    assert (event.kind, event.is_truncated) == (Kind.RECEIVED_SPAM, True)


def test_a_mail_that_was_read_back_is_complete_whatever_its_size() -> None:
    """A large mail without text would be announced and read for ever."""
    event = read(a_mail_body(text=None, size=5_000_000), is_read_back=True)

    assert (event.kind, event.is_truncated) == (Kind.RECEIVED, False)


def wrapped(answer: bytes, *, inbox_id: str = INBOX) -> bytes:
    """The answer as the body of a webhook."""
    return payload_of(
        answer,
        event_id="h1",
        inbox_id=InboxId(inbox_id),
        message_id=MessageId("m1@customer.example"),
    )


def test_an_answer_reads_like_the_webhook_that_it_stands_for() -> None:
    """DEDUPE has one way to read a mail."""
    assert read(wrapped(ANSWER)) == read_mail()


def test_an_answer_is_kept_byte_for_byte() -> None:
    """Everything from outside is kept as it came."""
    odd = ANSWER.replace(b"{", b'{ "x" : 1E400,', 1)

    assert odd in wrapped(odd)


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"<html>",
        b"[]",
        b"{}",
        ANSWER[:-1],
        ANSWER + b',"event_type":"message.sent"',
        json.dumps(a_message(message_id="<m2@customer.example>")).encode(),
        json.dumps(a_message(inbox_id="billing@inbox.example")).encode(),
    ],
)
def test_an_answer_that_is_not_the_message_is_no_answer(answer: bytes) -> None:
    """Another mail must not go on in this one's place, nor a proxy's page as a mail."""
    with pytest.raises(DecodeError):
        wrapped(answer)
