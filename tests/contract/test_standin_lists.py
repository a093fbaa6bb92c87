"""The stand-in keeps AgentMail's contract for lists and threads (providers.md 1.7, 1.8)."""

from typing import Any
from urllib.parse import quote

import httpx
import pytest

from tests.contract.standin_http import (
    INBOX,
    MESSAGE_ID,
    OTHER_INBOX,
    minute,
    path_of,
    received,
    reply,
)


def listed(api: httpx.Client, **params: Any) -> dict[str, Any]:
    """One page of the inbox."""
    answer = api.get(f"/v0/inboxes/{quote(INBOX)}/messages", params=params)
    assert answer.status_code == 200, answer.text
    page: dict[str, Any] = answer.json()
    return page


def five(api: httpx.Client) -> list[str]:
    """The ids of five mails, a minute apart, oldest first."""
    ids = [f"<m{number}@y.example>" for number in range(5)]
    for number, message_id in enumerate(ids):
        received(api, message_id=message_id, timestamp=minute(number))
    return ids


def test_newest_come_first_by_default(api: httpx.Client) -> None:
    """Default newest first; ascending=true oldest first (providers.md 1.7)."""
    ids = five(api)

    descending, ascending = listed(api), listed(api, ascending="true")

    assert [each["message_id"] for each in descending["messages"]] == ids[::-1]
    assert [each["message_id"] for each in ascending["messages"]] == ids


def test_items_have_no_body(api: httpx.Client) -> None:
    """MessageItem lacks text, html, extracted_* and reply_to; get has them (1.7)."""
    bodies = {"text": "Hi", "html": "<p>Hi</p>", "extracted_text": "Hi", "extracted_html": "H"}
    received(api, **bodies, reply_to=["ann@y.example"])

    item = listed(api)["messages"][0]
    whole = api.get(path_of(MESSAGE_ID)).json()

    assert whole.keys() - item.keys() == {*bodies, "reply_to"}


def test_last_page_has_no_token(api: httpx.Client) -> None:
    """No next_page_token is the last page (providers.md 1.7)."""
    ids = five(api)

    pages = [listed(api, limit=2, ascending="true")]
    while token := pages[-1].get("next_page_token"):
        pages.append(listed(api, limit=2, ascending="true", page_token=token))

    assert [page["count"] for page in pages] == [2, 2, 1]
    assert [page["limit"] for page in pages] == [2, 2, 2]
    assert [each["message_id"] for page in pages for each in page["messages"]] == ids


def test_mail_that_arrives_between_pages_moves_nothing(api: httpx.Client) -> None:
    """A page token names a place in time, so nothing is skipped or repeated (1.7)."""
    ids = five(api)
    first = listed(api, limit=2)

    received(api, message_id="<new@y.example>", timestamp=minute(30))
    second = listed(api, limit=3, page_token=first["next_page_token"])

    shown = [each["message_id"] for page in (first, second) for each in page["messages"]]
    assert shown == ids[::-1]


def test_bounds_are_instants(api: httpx.Client) -> None:
    """The bounds are ISO-8601; without an offset they are UTC (providers.md 1.7)."""
    ids = five(api)

    page = listed(api, after="2026-11-30T10:00:30", before=minute(3), ascending="true")

    assert [each["message_id"] for each in page["messages"]] == ids[1:3]


def test_labels_are_a_json_array(api: httpx.Client) -> None:
    """The labels are sent as a JSON array in one string (providers.md 1.7)."""
    received(api)
    sent = reply(api).json()["message_id"]

    page = listed(api, labels='["sent"]')

    assert [each["message_id"] for each in page["messages"]] == [sent]


def test_spam_is_listed_only_on_request(api: httpx.Client) -> None:
    """include_spam and its like add what is hidden (providers.md 1.7)."""
    received(api, labels=["received", "spam"])

    counts = [listed(api)["count"], listed(api, include_spam="true")["count"]]

    assert counts == [0, 1]


@pytest.mark.parametrize(
    "params",
    [
        {"page_token": "nonsense"},
        {"page_token": "W10="},
        {"limit": "0"},
        {"limit": "many"},
        {"limit": "101", "from": "ann"},
        {"after": "yesterday"},
        {"labels": "received"},
        {"ascending": "perhaps"},
    ],
    ids=lambda params: "-".join(f"{name}={value}" for name, value in params.items()),
)
def test_query_that_means_nothing_is_400(api: httpx.Client, params: dict[str, str]) -> None:
    """A bad page_token, or limit above 100 with a filter, is 400 (providers.md 1.7)."""
    answer = api.get(f"/v0/inboxes/{quote(INBOX)}/messages", params=params)

    assert (answer.status_code, answer.json()["code"]) == (400, "validation_error")


def test_unknown_inbox_is_404(api: httpx.Client) -> None:
    """An inbox that is not ours has no list (providers.md 1.5)."""
    answer = api.get("/v0/inboxes/nobody@x.example/messages")

    assert answer.status_code == 404


def test_first_page_is_the_newest_in_ascending_order(api: httpx.Client) -> None:
    """First page newest, ascending inside, tokens lead to older pages (providers.md 1.8)."""
    ids = [f"<m{number}@y.example>" for number in range(5)]
    for number, message_id in enumerate(ids):
        received(api, message_id=message_id, timestamp=minute(number), thread_id="thd_1")
    path = f"/v0/inboxes/{quote(INBOX)}/threads/thd_1"

    pages = [api.get(path, params={"limit": 2}).json()]
    while token := pages[-1].get("next_page_token"):
        pages.append(api.get(path, params={"limit": 2, "page_token": token}).json())

    shown = [[each["message_id"] for each in page["messages"]] for page in pages]
    assert shown == [ids[3:], ids[1:3], ids[:1]]
    assert [page["count"] for page in pages] == [2, 2, 1]


def test_thread_tells_what_it_holds(api: httpx.Client) -> None:
    """Thread is ThreadItem and its messages (providers.md 1.3, 1.8)."""
    arrived = received(api, subject="Order", timestamp=minute(0))
    sent = reply(api).json()

    thread = api.get(f"/v0/threads/{arrived['thread_id']}").json()

    told = ("inbox_id", "message_count", "last_message_id", "subject", "labels", "senders")
    assert {name: thread[name] for name in told} == {
        "inbox_id": INBOX,
        "message_count": 2,
        "last_message_id": sent["message_id"],
        "subject": "Order",
        "labels": ["received", "unread", "sent"],
        "senders": ["Customer <customer@customer.example>", INBOX],
    }
    assert [each["message_id"] for each in thread["messages"]] == [
        "<m1@y.example>",
        sent["message_id"],
    ]


@pytest.mark.parametrize("named_by", ["in_reply_to", "references"])
def test_customer_who_answers_stays_in_the_thread(api: httpx.Client, named_by: str) -> None:
    """Threading uses In-Reply-To and References, brackets or not (providers.md 1.8)."""
    arrived = received(api)
    sent = reply(api).json()["message_id"].strip("<>")
    named: dict[str, Any] = {named_by: sent if named_by == "in_reply_to" else [sent]}

    answered = received(api, message_id="<m2@y.example>", **named)

    assert answered["thread_id"] == arrived["thread_id"]


def test_limit_above_100_is_400(api: httpx.Client) -> None:
    """The limit is at most 100 (providers.md 1.8)."""
    received(api, thread_id="thd_1")

    answer = api.get("/v0/threads/thd_1", params={"limit": 101})

    assert answer.status_code == 400


def test_unknown_thread_is_404(api: httpx.Client) -> None:
    """A thread is of its inbox (providers.md 1.5)."""
    received(api, thread_id="thd_1")

    answer = api.get(f"/v0/inboxes/{quote(OTHER_INBOX)}/threads/thd_1")

    assert answer.status_code == 404
