from typing import Any

import pytest

from schemas.keys import derived_message_id
from tests.inbound import INTAKE, read, read_mail
from tests.payloads import a_body, a_message

NOW_NS = INTAKE.received_at_ms * 1_000_000


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"in_reply_to": "root@x"}, ("root:root@x", ("root@x",))),
        (
            {"references": "<root@x><two@x><three@x>"},
            ("root:root@x", ("three@x", "two@x", "root@x")),
        ),
        (
            {"references": "<root@x>,<two@x>,\r\n <three@x>"},
            ("root:root@x", ("three@x", "two@x", "root@x")),
        ),
        (
            {"references": "<root@x>\r\n\t<two@x> (was: x) <three@x>"},
            ("root:root@x", ("three@x", "two@x", "root@x")),
        ),
        (
            {"in_reply_to": "<unknown@e>", "references": ["<root@x>", "<unknown@e>"]},
            ("root:root@x", ("unknown@e", "root@x")),
        ),
        ({"headers": {"References": "<root@x>"}}, ("root:root@x", ("root@x",))),
        ({"in_reply_to": "<>"}, ("root:m1@customer.example", ())),
        ({"in_reply_to": " < > ", "references": ""}, ("root:m1@customer.example", ())),
    ],
    ids=[
        *("answer alone", "no white space", "commas", "folded", "unknown answer, known root"),
        *("mail's own fields", "empty brackets", "blank brackets"),
    ],
)
def test_a_mail_without_a_thread_finds_it_by_its_references(
    members: dict[str, Any], expected: tuple[str, tuple[str, ...]]
) -> None:
    """The root names the thread; empty brackets name nothing, least of all each other."""
    event = read_mail(thread_id=None, **members)

    assert (event.thread_key, event.parents) == expected


def test_a_thread_named_beside_the_mail_counts() -> None:
    """Some payloads name it in the thread object only."""
    event = read(a_body(message=a_message(thread_id=" "), thread={"thread_id": "thd_2"}))

    assert (event.thread_key, event.provider_thread_id) == ("thd_2", "thd_2")


@pytest.mark.parametrize(
    ("thread", "is_opening"),
    [
        ({"message_count": 1}, True),
        ({"message_count": 2}, False),
        ({"message_count": True}, False),
        ({}, False),
        (None, False),
    ],
)
def test_a_thread_of_one_message_has_just_begun(thread: object, *, is_opening: bool) -> None:
    """Then nothing can precede it, and it need not wait."""
    assert read(a_body(message=a_message(), thread=thread)).is_opening is is_opening


@pytest.mark.parametrize(
    "spelling", ["<a+b@x>", "<a b@x>", "<%3Ca%40x%3E@x>", "<grüße@x>", " <p@x>"]
)
def test_the_providers_spelling_of_an_id_is_kept(spelling: str) -> None:
    """Its API paths take no other form, while comparison needs ours."""
    event = read_mail(message_id=spelling)

    assert (event.provider_message_id, event.message_id) == (spelling, spelling.strip()[1:-1])


@pytest.mark.parametrize("message_id", [None, "", "<>", ["<a@x>", "<b@x>"], 5, "x" * 3_000])
def test_a_mail_without_a_usable_id_gets_one_of_its_own(message_id: object) -> None:
    """It cannot be threaded or answered by it, but it cannot meet another mail under it either."""
    event = read_mail(message_id=message_id)

    assert (event.message_id, event.is_derived_id) == (derived_message_id(INTAKE.event_key), True)
    assert event.provider_message_id is None


def test_two_message_ids_in_the_header_do_not_matter() -> None:
    """One member names the message; the mail's own fields may say what they like."""
    event = read_mail(headers={"Message-ID": ["<one@x>", "<two@x>"], "Message-Id": "<three@x>"})

    assert event.message_id == "m1@customer.example"


@pytest.mark.parametrize(
    ("timestamp", "mark"),
    [
        (1_767_607_200, "unparsable"),
        ("1767607200000", "unparsable"),
        ("2026-01-05T10:00:00", "unparsable"),
        ("2096-03-17T05:32:00Z", "future"),
        ("1970-01-01T00:00:00Z", "absurd"),
        (None, "missing"),
    ],
)
def test_a_time_outside_the_contract_is_the_receipt_time(timestamp: object, mark: str) -> None:
    """The contract says ISO 8601 text; seconds and milliseconds would be a guess."""
    event = read_mail(timestamp=timestamp)

    assert (event.occurred_at_ns, event.time_mark) == (NOW_NS, mark)
