"""Our AgentMail client against the stand-in: each answer comes back as what it is."""

import asyncio
import socket
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from ops.standin.launch import Running
from processors.core.ledger_rows import Request
from processors.core.outcomes import Answer, Failure, Looked
from processors.core.requests import LookCall, PostCall, segment
from processors.providers.agentmail_client import AgentMailClient
from schemas.directory import Account
from tests.contract.standin_http import INBOX, MESSAGE_ID, mails, order, received

KEY = "reply-" + "a" * 64
BODY = b'{"text":"Hello Ann","headers":{"Auto-Submitted":"auto-replied"}}'
ENVIRON = {"MAIL_KEY": "am_test"}
DEADLINE_S = 20.0
# For answers that never come: long enough for a loaded machine to have sent the request.
SHORT_S = 2.0
ODD_IDS = (
    "<a/b@x.example>",
    "<a+b@x.example>",
    "<a%2Fb@x.example>",
    "<a?b#c@x.example>",
    "<../../inboxes@x.example>",
    "<\u00fc b@x.example>",
    "..",
)


class Withheld(Exception):
    """The call may not be made."""


def open_gate() -> None:
    """Let the request be written."""


def an_account(url: str) -> Account:
    """An account at the provider that listens there."""
    return Account(provider="agentmail", base_url=url, api_key="MAIL_KEY")


def a_post(message_id: str = MESSAGE_ID, *, key: str = KEY, body: bytes = BODY) -> PostCall:
    """The reply to that message."""
    path = f"/v0/inboxes/{segment(INBOX)}/messages/{segment(message_id)}/reply"
    request = Request(
        method="POST", path=path, query="", content_type="application/json", body=body
    )
    return PostCall(
        provider="agentmail", account="main", idempotency_key=key, request=request, switches=()
    )


def a_look(thread_id: str) -> LookCall:
    """A look for our reply to the message, in that thread."""
    path = f"/v0/inboxes/{segment(INBOX)}/threads/{segment(thread_id)}"
    return LookCall(
        provider="agentmail", account="main", path=path, answered_id=MESSAGE_ID.strip("<>")
    )


def post(
    url: str,
    *calls: PostCall,
    guard: Callable[[], None] = open_gate,
    environ: Mapping[str, str] = ENVIRON,
    timeout_s: float = DEADLINE_S,
) -> list[Answer]:
    """The answers to these calls, made one after the other through one client."""

    async def made() -> list[Answer]:
        client = AgentMailClient(an_account(url), environ=environ)
        try:
            return [await client.post(call, guard=guard, timeout_s=timeout_s) for call in calls]
        finally:
            await client.close()

    return asyncio.run(made())


def look(
    url: str,
    thread_id: str,
    *,
    environ: Mapping[str, str] = ENVIRON,
    timeout_s: float = DEADLINE_S,
) -> Looked:
    """What a look into that thread finds."""

    async def made() -> Looked:
        client = AgentMailClient(an_account(url), environ=environ)
        try:
            return await client.look_up(a_look(thread_id), timeout_s=timeout_s)
        finally:
            await client.close()

    return asyncio.run(made())


def requests_seen(api: httpx.Client) -> int:
    """How many requests reached the provider."""
    total: int = api.get("/_standin/requests").json()["total"]
    return total


# -- posting


def test_accepted_post_has_the_ids_of_the_mail(provider: Running, api: httpx.Client) -> None:
    """The mail that lies in the mailbox is the one that the answer names."""
    thread_id = received(api)["thread_id"]

    (answer,) = post(provider.url, a_post())

    (mail,) = mails(api)
    assert answer == Answer(status=200, message_id=mail["message_id"], thread_id=thread_id)
    assert (mail["in_reply_to"], mail["text"]) == (MESSAGE_ID, "Hello Ann")
    assert mail["headers"]["Auto-Submitted"] == "auto-replied"


def test_repeated_post_is_one_mail_with_one_answer(provider: Running, api: httpx.Client) -> None:
    """The key folds them into one."""
    received(api)

    first, second = post(provider.url, a_post(), a_post())

    assert first == second
    assert len(mails(api)) == 1


def test_other_bytes_under_the_key_are_a_conflict(provider: Running, api: httpx.Client) -> None:
    """The code is all that tells it from other refusals."""
    received(api)

    _, second = post(provider.url, a_post(), a_post(body=b'{"text":"other"}'))

    assert second == Answer(status=409, code="conflict")


@pytest.mark.parametrize("message_id", ODD_IDS)
def test_odd_id_reaches_its_own_message(
    provider: Running, api: httpx.Client, message_id: str
) -> None:
    """Each id is one segment of the path, and no other resource is hit."""
    received(api, message_id=message_id)

    (answer,) = post(provider.url, a_post(message_id))

    (mail,) = mails(api)
    assert (answer.status, mail["answered"]) == (200, message_id)


@pytest.mark.parametrize(
    ("fault", "answer"),
    [
        (
            {"kind": "status", "status": 429, "retry_after": "7"},
            Answer(status=429, retry_after="7", code="rate_limit_exceeded"),
        ),
        ({"kind": "status", "status": 503}, Answer(status=503, code="service_unavailable")),
        ({"kind": "status", "status": 500}, Answer(status=500, code="internal_error")),
        ({"kind": "status", "status": 403}, Answer(status=403, code="message_rejected")),
        (
            {"kind": "status", "status": 403, "code": "missing_permission"},
            Answer(status=403, code="missing_permission"),
        ),
        ({"kind": "status", "status": 422}, Answer(status=422, code="unprocessable")),
        ({"kind": "drop"}, Answer(failure=Failure.CONNECTION)),
    ],
    ids=["429", "503", "500", "403-message", "403-account", "422", "drop"],
)
def test_refusal_comes_back_as_it_is(
    provider: Running, api: httpx.Client, fault: dict[str, Any], answer: Answer
) -> None:
    """What it means is for the core to say."""
    received(api)
    order(api, **fault)

    (found,) = post(provider.url, a_post())

    assert found == answer
    assert mails(api) == []


def test_lost_answer_is_a_broken_connection_and_the_repeat_gets_it(
    provider: Running, api: httpx.Client
) -> None:
    """The mail went out; only the same key can find that out without a second one."""
    received(api)
    order(api, kind="accept_then_drop")

    lost, repeated = post(provider.url, a_post(), a_post())

    assert lost == Answer(failure=Failure.CONNECTION)
    assert (repeated.status, len(mails(api))) == (200, 1)


@pytest.mark.parametrize("kind", ["hold_then_accept", "accept_then_hold"])
def test_answer_that_does_not_come_in_time_is_a_timeout(
    provider: Running, api: httpx.Client, kind: str
) -> None:
    """A provider that hangs must not hold a lease beyond its end."""
    received(api)
    order(api, kind=kind)

    (slow,) = post(provider.url, a_post(), timeout_s=SHORT_S)

    assert slow == Answer(failure=Failure.TIMEOUT)


def test_repeat_while_the_first_call_runs_is_a_conflict(
    provider: Running, api: httpx.Client
) -> None:
    """AgentMail says the same of it as of other content."""
    received(api)
    order(api, kind="hold_then_accept")

    post(provider.url, a_post(), timeout_s=SHORT_S)
    (repeated,) = post(provider.url, a_post())

    assert repeated == Answer(status=409, code="conflict")


def test_answer_with_an_unreadable_body_has_no_ids(provider: Running, api: httpx.Client) -> None:
    """A 200 that names no mail is no receipt."""
    received(api)
    order(api, kind="accept_then_status", status=200, body={"message_id": 7, "thread_id": " "})

    (answer,) = post(provider.url, a_post())

    assert answer == Answer(status=200)


def test_provider_that_does_not_listen_is_not_reached() -> None:
    """No byte left us, and that is known."""
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"

        (answer,) = post(url, a_post())

    assert answer == Answer(failure=Failure.UNREACHED)


# -- the guard


def test_guard_keeps_every_byte_back(provider: Running, api: httpx.Client) -> None:
    """A stopped send must not reach the provider at all."""
    received(api)
    before = requests_seen(api)

    def closed() -> None:
        raise Withheld

    with pytest.raises(Withheld):
        post(provider.url, a_post(), guard=closed)

    assert (requests_seen(api), mails(api)) == (before, [])


def test_guard_is_asked_again_when_the_request_is_written(
    provider: Running, api: httpx.Client
) -> None:
    """Connecting takes time, and the switch may go off meanwhile."""
    received(api)
    before = requests_seen(api)
    asked: list[int] = []

    def closes_meanwhile() -> None:
        asked.append(len(asked))
        if len(asked) > 1:
            raise Withheld

    with pytest.raises(Withheld):
        post(provider.url, a_post(), guard=closes_meanwhile)

    assert (len(asked), requests_seen(api), mails(api)) == (2, before, [])


def test_call_after_a_withheld_one_goes_through(provider: Running, api: httpx.Client) -> None:
    """The connection that was not used must not be left half used."""
    received(api)
    asked: list[int] = []

    def closed_at_first() -> None:
        asked.append(len(asked))
        if len(asked) == 2:
            raise Withheld

    async def made() -> Answer:
        client = AgentMailClient(an_account(provider.url), environ=ENVIRON)
        try:
            with pytest.raises(Withheld):
                await client.post(a_post(), guard=closed_at_first, timeout_s=DEADLINE_S)
            return await client.post(a_post(), guard=closed_at_first, timeout_s=DEADLINE_S)
        finally:
            await client.close()

    assert (asyncio.run(made()).status, len(mails(api))) == (200, 1)


# -- keys


def test_missing_key_makes_no_call(provider: Running, api: httpx.Client) -> None:
    """The account is not usable until somebody mends it."""
    received(api)
    before = requests_seen(api)

    (answer,) = post(provider.url, a_post(), environ={})
    looked = look(provider.url, "thd", environ={"MAIL_KEY": "line\nbreak"})

    assert answer == Answer(failure=Failure.UNCONFIGURED)
    assert looked == Looked(answer=Answer(failure=Failure.UNCONFIGURED))
    assert requests_seen(api) == before


def test_key_is_read_from_its_file_for_each_call(
    provider: Running, api: httpx.Client, tmp_path: Path
) -> None:
    """A key that was changed counts from the next call, without a restart."""
    received(api)
    path = tmp_path / "key"
    environ = {"MAIL_KEY_FILE": str(path)}

    (unreadable,) = post(provider.url, a_post(), environ=environ)
    path.write_text("am_test\n", encoding="ascii")
    (answer,) = post(provider.url, a_post(), environ=environ)

    assert unreadable == Answer(failure=Failure.UNCONFIGURED)
    assert answer.status == 200


# -- looking


def test_our_reply_is_found_in_the_thread(provider: Running, api: httpx.Client) -> None:
    """A mail of ours that answers the message settles what a lost answer left open."""
    thread_id = received(api)["thread_id"]
    (answer,) = post(provider.url, a_post())

    looked = look(provider.url, thread_id)

    assert looked == Looked(
        answer=Answer(status=200), found=(str(answer.message_id), answer.thread_id)
    )


def test_reply_behind_many_newer_mails_is_found(provider: Running, api: httpx.Client) -> None:
    """A thread comes in pages, newest first."""
    thread_id = received(api)["thread_id"]
    post(provider.url, a_post())
    newer = [
        {
            "message": {
                "inbox_id": INBOX,
                "thread_id": thread_id,
                "message_id": f"<later{nth}@y.example>",
                "text": "More",
            }
        }
        for nth in range(150)
    ]
    api.post("/_standin/inbound", json={"mails": newer}).raise_for_status()

    assert look(provider.url, thread_id).found is not None


def test_thread_without_our_reply_shows_none(provider: Running, api: httpx.Client) -> None:
    """The customer's own mails are no replies of ours."""
    thread_id = received(api)["thread_id"]

    assert look(provider.url, thread_id) == Looked(answer=Answer(status=200))


def test_unknown_thread_is_said_to_be_unknown(provider: Running, api: httpx.Client) -> None:
    """The provider keeps nothing by that name."""
    received(api)

    assert look(provider.url, "thd_none") == Looked(answer=Answer(status=404, code="not_found"))


@pytest.mark.parametrize(
    ("fault", "answer"),
    [
        ({"kind": "status", "status": 503}, Answer(status=503, code="service_unavailable")),
        ({"kind": "status", "status": 401}, Answer(status=401, code="unauthorized")),
        ({"kind": "drop"}, Answer(failure=Failure.CONNECTION)),
        ({"kind": "status", "status": 200, "body": {}}, Answer(failure=Failure.CONNECTION)),
    ],
    ids=["503", "401", "drop", "no-thread"],
)
def test_look_that_saw_nothing_says_so(
    provider: Running, api: httpx.Client, fault: dict[str, Any], answer: Answer
) -> None:
    """Not having looked is not the same as not having found."""
    thread_id = received(api)["thread_id"]
    order(api, operation="thread", **fault)

    assert look(provider.url, thread_id) == Looked(answer=answer)


def test_look_ends_in_time(provider: Running, api: httpx.Client) -> None:
    """A provider that hangs must not hold a lease beyond its end."""
    thread_id = received(api)["thread_id"]
    order(api, operation="thread", kind="delay", seconds=60)

    looked = look(provider.url, thread_id, timeout_s=SHORT_S)

    assert looked == Looked(answer=Answer(failure=Failure.TIMEOUT))
