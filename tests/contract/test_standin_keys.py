"""The stand-in keeps AgentMail's Idempotency-Key contract (providers.md 1.6)."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from ops.standin.launch import Running
from tests.contract.standin_http import (
    INBOX,
    MESSAGE_ID,
    OTHER_INBOX,
    REPLY,
    client_of,
    mails,
    order,
    path_of,
    received,
    reply,
    try_reply,
    wait_for,
)

DAY_SECONDS = 24 * 60 * 60


def test_same_request_gets_the_first_answer_and_no_second_mail(api: httpx.Client) -> None:
    """Same key, same request: the original ids (providers.md 1.6)."""
    received(api)

    first, second = (reply(api, key="reply-1").json() for _ in range(2))

    assert second == first
    assert len(mails(api)) == 1


def test_no_key_means_a_mail_each_time(api: httpx.Client) -> None:
    """Only the key makes a repeat harmless (providers.md 1.6)."""
    received(api)

    for _ in range(2):
        reply(api)

    assert len(mails(api)) == 2


@pytest.mark.parametrize("where", ["content", "message", "inbox", "endpoint"])
def test_key_of_another_request_is_a_conflict(api: httpx.Client, where: str) -> None:
    """Other content, inbox or endpoint under a key: 409 `conflict` (providers.md 1.6)."""
    for inbox_id in (INBOX, OTHER_INBOX):
        received(api, inbox_id=inbox_id)
        received(api, inbox_id=inbox_id, message_id="<m2@y.example>")
    path, body = f"{path_of(MESSAGE_ID)}/reply", REPLY
    api.post(path, json=body, headers={"Idempotency-Key": "k"}).raise_for_status()
    other = {
        "content": (path, {**REPLY, "text": "Other"}),
        "message": (f"{path_of('<m2@y.example>')}/reply", body),
        "inbox": (f"{path_of(MESSAGE_ID, inbox_id=OTHER_INBOX)}/reply", body),
        "endpoint": (f"{path_of(MESSAGE_ID)}/reply-all", body),
    }

    other_path, other_body = other[where]
    answer = api.post(other_path, json=other_body, headers={"Idempotency-Key": "k"})

    assert (answer.status_code, answer.json()["code"]) == (409, "conflict")
    assert len(mails(api)) == 1


def test_key_in_flight_is_the_same_conflict(api: httpx.Client, provider: Running) -> None:
    """A first request that still runs answers 409 too, and nothing tells which (1.6)."""
    received(api)
    order(api, kind="hold_then_accept")
    with ThreadPoolExecutor() as pool, client_of(provider.url) as other:
        first = pool.submit(reply, other, key="k")
        wait_for(api, held=1)

        during = [reply(api, key="k"), reply(api, key="k", text="Other")]
        before = mails(api)
        api.post("/_standin/release")

        assert first.result().status_code == 200
    assert [each.status_code for each in during] == [409, 409]
    assert during[0].json() == during[1].json()
    assert (before, len(mails(api))) == ([], 1)


def test_requests_at_once_under_one_key_make_one_mail(api: httpx.Client, provider: Running) -> None:
    """Two senders that both think it is their turn are folded into one (providers.md 1.6)."""
    received(api)
    with ThreadPoolExecutor(8) as pool, client_of(provider.url) as many:
        answers = list(pool.map(lambda _: reply(many, key="k"), range(40)))

    accepted = {each.json()["message_id"] for each in answers if each.is_success}
    assert {mail["message_id"] for mail in mails(api)} == accepted
    assert len(accepted) == 1


@pytest.mark.parametrize(
    "key",
    [b"", b"a b", b"a/b", "é".encode(), b"k" * 257],
    ids=["empty", "space", "slash", "unicode", "257"],
)
def test_malformed_key_is_400(api: httpx.Client, key: bytes) -> None:
    """1 to 256 of A-Z a-z 0-9 - . _ ~; empty or malformed is 400 (providers.md 1.6)."""
    received(api)

    answer = api.post(
        f"{path_of(MESSAGE_ID)}/reply", json=REPLY, headers=[(b"Idempotency-Key", key)]
    )

    assert (answer.status_code, mails(api)) == (400, [])


def test_two_key_headers_are_400(api: httpx.Client) -> None:
    """A client that sends the header in two letter cases sends two (providers.md 1.6)."""
    received(api)

    answer = api.post(
        f"{path_of(MESSAGE_ID)}/reply",
        json=REPLY,
        headers=[("Idempotency-Key", "k"), ("idempotency-key", "k")],
    )

    assert (answer.status_code, mails(api)) == (400, [])


@pytest.mark.parametrize("key", ["k", "k" * 256, "Az09-._~", "reply-" + "0" * 64])
def test_key_of_the_alphabet_is_taken(api: httpx.Client, key: str) -> None:
    """1 to 256 characters of the alphabet (providers.md 1.6)."""
    received(api)

    answer = reply(api, key=key)

    assert answer.status_code == 200


def test_key_lives_24_hours_from_completion(api: httpx.Client) -> None:
    """A second before the day is over it still guards; then it does not (providers.md 1.6)."""
    received(api)
    reply(api, key="k")

    api.post("/_standin/clock", json={"advance_seconds": DAY_SECONDS - 60})
    reply(api, key="k")
    within = len(mails(api))
    api.post("/_standin/clock", json={"advance_seconds": 60})
    reply(api, key="k")

    assert (within, len(mails(api))) == (1, 2)


@pytest.mark.parametrize(
    "fault",
    [{"kind": "status", "status": 500}, {"kind": "status", "status": 429}, {"kind": "drop"}],
    ids=["500", "429", "drop"],
)
def test_failed_first_attempt_frees_the_key(api: httpx.Client, fault: dict[str, Any]) -> None:
    """After a failed first attempt the key is usable again (providers.md 1.6)."""
    received(api)
    order(api, **fault)
    try_reply(api, key="k")

    answer = reply(api, key="k", text="Another text")

    assert (answer.status_code, len(mails(api))) == (200, 1)


def test_refused_first_attempt_frees_the_key(api: httpx.Client) -> None:
    """A 404 is a failed first attempt too (providers.md 1.6)."""
    reply(api, key="k")
    received(api)

    answer = reply(api, key="k")

    assert answer.status_code == 200


def test_freed_key_can_be_busy_for_a_short_window(api: httpx.Client) -> None:
    """The key is usable again only after a window of no given length (providers.md 1.6)."""
    received(api)
    order(api, kind="status", status=503, key_busy_seconds=30)
    reply(api, key="k")

    within = reply(api, key="k").status_code
    api.post("/_standin/clock", json={"advance_seconds": 30})
    after = reply(api, key="k").status_code

    assert (within, after) == (409, 200)
