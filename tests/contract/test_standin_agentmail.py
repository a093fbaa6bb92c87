"""The stand-in keeps AgentMail's contract for sends, row by row of providers.md, over real HTTP.

Nothing here uses our own provider client: what both got wrong in the same way would not show.
"""

from http.client import HTTPConnection
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from tests.contract.standin_http import (
    INBOX,
    MESSAGE_ID,
    OTHER_INBOX,
    REPLY,
    mails,
    path_of,
    received,
    reply,
)


@pytest.mark.parametrize(
    "authorization",
    [None, "", "Bearer", "Bearer am_", "Bearer sk_test", "Basic am_test"],
    ids=["absent", "empty", "no-token", "only-prefix", "other-prefix", "other-scheme"],
)
def test_request_without_a_bearer_key_is_401(api: httpx.Client, authorization: str | None) -> None:
    """Every path under /v0 needs `Authorization: Bearer am_...` (providers.md 1.1)."""
    received(api)
    request = api.build_request("POST", f"{path_of(MESSAGE_ID)}/reply", json=REPLY)
    del request.headers["Authorization"]
    if authorization is not None:
        request.headers["Authorization"] = authorization

    answer = api.send(request)

    assert answer.status_code == 401
    assert {"name", "code", "message"} <= answer.json().keys()
    assert mails(api) == []


def test_reply_is_answered_with_its_ids(api: httpx.Client) -> None:
    """The answer 200 is `{message_id, thread_id}` and nothing else (providers.md 1.5)."""
    arrived = received(api)

    answer = reply(api)

    assert (answer.status_code, answer.json().keys()) == (200, {"message_id", "thread_id"})
    assert answer.json()["thread_id"] == arrived["thread_id"]


def test_reply_stands_in_the_thread_as_sent_mail(api: httpx.Client) -> None:
    """Our reply is found by label sent and in_reply_to; headers are kept (providers.md 1.8)."""
    received(api, message_id="<m2@y.example>", references=["<m0@x.example>"], subject="Order")

    message_id = reply(api, "<m2@y.example>").json()["message_id"]

    sent = api.get(path_of(message_id)).json()
    told = ("labels", "in_reply_to", "references", "headers", "text", "from", "subject")
    assert {name: sent[name] for name in told} == {
        "labels": ["sent"],
        "in_reply_to": "<m2@y.example>",
        "references": ["<m0@x.example>", "<m2@y.example>"],
        "headers": REPLY["headers"],
        "text": REPLY["text"],
        "from": INBOX,
        "subject": "Re: Order",
    }


def test_message_id_is_fresh_and_in_angle_brackets(api: httpx.Client) -> None:
    """message_id is the RFC Message-ID with brackets, one a mail (providers.md 1.3)."""
    received(api)

    ids = [reply(api).json()["message_id"] for _ in range(2)]

    assert all(each.startswith("<") and each.endswith("@x.example>") for each in ids)
    assert len(set(ids)) == 2


@pytest.mark.parametrize(
    "message_id",
    ["<o/r/pull/1@github.com>", "<a?b#c%2Fd+e@y.example>", "<space in@y.example>", "<é@y>", ".."],
    ids=["slashes", "reserved", "space", "unicode", "dots"],
)
def test_id_with_reserved_characters_is_reached_when_encoded(
    api: httpx.Client, message_id: str
) -> None:
    """Ids may hold / ? # % + < >; an encoded path finds them (providers.md 1.5)."""
    received(api, message_id=message_id)
    path = path_of(message_id).replace("..", "%2E%2E")

    connection = HTTPConnection(api.base_url.host, api.base_url.port, timeout=30)
    connection.request("POST", f"{path}/reply", body=b"{}", headers=dict(api.headers))
    status = connection.getresponse().status
    connection.close()

    assert status == 200
    assert [mail["in_reply_to"] for mail in mails(api)] == [message_id]


def test_reply_to_an_unknown_message_is_404(api: httpx.Client) -> None:
    """404 is `not_found`, a permanent refusal (providers.md 1.5)."""
    answer = reply(api, "<nobody@y.example>")

    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


def test_message_belongs_to_one_inbox(api: httpx.Client) -> None:
    """The same mail to two inboxes is two messages (providers.md 1.3)."""
    received(api, inbox_id=OTHER_INBOX)

    answer = reply(api)

    assert answer.status_code == 404


def test_recipients_come_from_the_answered_mail(api: httpx.Client) -> None:
    """With no `to`, the provider derives recipients (providers.md 1.5)."""
    received(api, **{"from": "Ann <ann@y.example>", "reply_to": ["desk@y.example"]})

    reply(api)

    assert [mail["to"] for mail in mails(api)] == [["desk@y.example"]]


def test_reply_all_reaches_everyone_but_the_inbox(api: httpx.Client) -> None:
    """reply-all takes no recipients (providers.md 1.5)."""
    people = {"from": "ann@y.example", "to": [INBOX, "bob@y.example"], "cc": ["cy@y.example"]}
    received(api, **people)

    answer = api.post(f"{path_of(MESSAGE_ID)}/reply-all", json={"text": "All"})

    assert answer.status_code == 200
    assert [(mail["to"], mail["cc"]) for mail in mails(api)] == [
        (["ann@y.example"], ["bob@y.example", "cy@y.example"])
    ]


def test_send_opens_a_thread(api: httpx.Client) -> None:
    """A send takes recipients and a subject (providers.md 1.5)."""
    body = {"to": "ann@y.example", "subject": "News", "text": "Hello"}

    answer = api.post(f"/v0/inboxes/{quote(INBOX)}/messages/send", json=body)

    thread = api.get(f"/v0/threads/{answer.json()['thread_id']}").json()
    assert [each["subject"] for each in thread["messages"]] == ["News"]


@pytest.mark.parametrize(
    ("body", "refusal"),
    [
        ({"to": [f"a{n}@y.example" for n in range(51)]}, (400, "validation_error")),
        ({"to": []}, (422, "unprocessable")),
        ({"text": 7}, (400, "validation_error")),
        ({"headers": {"X-A": "a\r\nBcc: b"}}, (400, "validation_error")),
        ({"to": "a@y.example", "reply_all": True}, (400, "validation_error")),
    ],
    ids=["51-recipients", "none-left", "wrong-type", "line-break", "undocumented-pair"],
)
def test_body_that_cannot_be_sent_is_refused(
    api: httpx.Client, body: dict[str, Any], refusal: tuple[int, str]
) -> None:
    """Refusals carry a status and a code to branch on (providers.md 1.5)."""
    received(api)

    answer = reply(api, **body)

    assert (answer.status_code, answer.json()["code"]) == refusal
    assert mails(api) == []
