"""Our AgentMail client posts to the stand-in: each answer comes back as what it is."""

import asyncio
import socket
from contextlib import closing
from typing import Any

import httpx
import pytest

from ops.standin.launch import Running
from processors.core.outcomes import Answer, Failure
from processors.providers.agentmail_client import AgentMailClient
from tests.contract.agentmail_calls import (
    DEADLINE_S,
    ENVIRON,
    ODD_IDS,
    SHORT_S,
    Withheld,
    a_post,
    an_account,
    post,
    requests_seen,
)
from tests.contract.standin_http import MESSAGE_ID, mails, order, received


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
