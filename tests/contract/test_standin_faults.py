"""What the stand-in can be told to do wrong, and what of it survives."""

from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path

import httpx
import pytest

from ops.standin.launch import Running, running
from tests.contract.standin_http import (
    INBOX,
    MESSAGE_ID,
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


def test_429_tells_when_to_come_back(api: httpx.Client) -> None:
    """429 is `rate_limit_exceeded` with Retry-After (providers.md 1.5)."""
    received(api)
    order(api, kind="status", status=429, retry_after="2")

    answer = reply(api)

    told = (answer.status_code, answer.headers["retry-after"], answer.json()["code"])
    assert told == (429, "2", "rate_limit_exceeded")


@pytest.mark.parametrize(
    ("status", "code"), [(500, "internal_error"), (503, "service_unavailable")]
)
def test_server_error_has_its_code(api: httpx.Client, status: int, code: str) -> None:
    """500 and 503: try again under the same key (providers.md 1.5)."""
    received(api)
    order(api, kind="status", status=status, times=2)

    answers = [reply(api, key="k") for _ in range(3)]

    assert [each.status_code for each in answers] == [status, status, 200]
    assert answers[0].json()["code"] == code


def test_drop_stores_nothing(api: httpx.Client) -> None:
    """No answer, no mail: the same key sends it (providers.md 1.6)."""
    received(api)
    order(api, kind="drop")

    assert try_reply(api, key="k") is None

    assert mails(api) == []


def test_mail_accepted_before_a_drop_is_not_sent_again(api: httpx.Client) -> None:
    """No answer, but a mail: the same key gets its ids (providers.md 1.6)."""
    received(api)
    order(api, kind="accept_then_drop")

    dropped = try_reply(api, key="k")
    repeated = reply(api, key="k").json()

    assert dropped is None
    assert [mail["message_id"] for mail in mails(api)] == [repeated["message_id"]]


def test_mail_accepted_before_a_500_is_not_sent_again(api: httpx.Client) -> None:
    """An error after the mail was taken is an unknown outcome (providers.md 1.6)."""
    received(api)
    order(api, kind="accept_then_status", status=500)

    statuses = [reply(api, key="k").status_code for _ in range(2)]

    assert (statuses, len(mails(api))) == ([500, 200], 1)


def test_held_answer_ends_with_its_client(api: httpx.Client, provider: Running) -> None:
    """A client that dies between the mail and its answer finds the mail by its key (1.6)."""
    received(api)
    order(api, kind="accept_then_hold")
    connection = HTTPConnection("127.0.0.1", provider.port, timeout=30)
    body = httpx.Request("POST", "http://x", json=REPLY).content
    headers = {"Authorization": "Bearer am_test", "Idempotency-Key": "k"}
    connection.request("POST", f"{path_of(MESSAGE_ID)}/reply", body, headers)
    wait_for(api, held=1, accepted=1)

    while_held = reply(api, key="k").status_code
    connection.close()
    wait_for(api, answered=2)

    assert while_held == 409
    assert reply(api, key="k").json()["message_id"] == mails(api)[0]["message_id"]
    assert len(mails(api)) == 1


def test_held_answer_goes_out_on_release(api: httpx.Client, provider: Running) -> None:
    """A slow answer is still the answer (providers.md 1.6)."""
    received(api)
    order(api, kind="accept_then_hold")
    with ThreadPoolExecutor() as pool, client_of(provider.url) as other:
        held = pool.submit(reply, other, key="k")
        wait_for(api, held=1)

        api.post("/_standin/release")

        assert held.result().json()["message_id"] == mails(api)[0]["message_id"]


def test_every_attempt_is_kept(api: httpx.Client) -> None:
    """What a client sent can be read back: key, content hash, status, fault."""
    received(api)
    order(api, kind="status", status=500)

    for _ in range(2):
        reply(api, key="k")

    attempts = api.get("/_standin/requests").json()["requests"]
    told = [(each["idempotency_key"], each["fault"], each["status"]) for each in attempts]
    assert told == [("k", "status", 500), ("k", None, 200)]
    assert attempts[0]["body_sha256"] == attempts[1]["body_sha256"]


def test_replies_are_counted_by_answered_message(api: httpx.Client) -> None:
    """The promise of the whole project is checked against these counts."""
    for message_id in ("<m1@y.example>", "<m2@y.example>"):
        received(api, message_id=message_id)
    for message_id in ("<m1@y.example>", "<m1@y.example>", "<m2@y.example>"):
        reply(api, message_id)

    counts = api.get("/_standin/counts").json()["replies"]

    assert counts == {INBOX: {"<m1@y.example>": 2, "<m2@y.example>": 1}}


def test_every_control_says_what_it_gives(api: httpx.Client) -> None:
    """The control side is its own manual."""
    controls = api.get("/_standin").json()["controls"]

    assert [each["path"] for each in controls if not each["gives"]] == []
    assert {"/_standin/wait", "/_standin/mailbox"} <= {each["path"] for each in controls}


def test_full_mailbox_refuses_with_507() -> None:
    """A limit answers clearly instead of growing until the machine gives up."""
    with running(max_messages=2) as standin, client_of(standin.url) as api:
        received(api)
        statuses = [reply(api, key=key).status_code for key in ("one", "two", "one")]
        mail = {"message": {"inbox_id": INBOX}}
        inbound = api.post("/_standin/inbound", json={"mails": [mail]})

    assert statuses == [200, 507, 200]
    assert (inbound.status_code, inbound.json()["code"]) == (507, "mailbox_full")


def test_killed_provider_keeps_mail_and_keys(tmp_path: Path) -> None:
    """A provider that forgot its keys would send twice; the state file keeps them."""
    state = tmp_path / "standin.jsonl"
    with running(state=state) as first, client_of(first.url) as api:
        received(api)
        sent = reply(api, key="k").json()
        first.kill()

    with running(state=state, port=first.port) as second, client_of(second.url) as api:
        repeated = reply(api, key="k").json()
        kept = [mail["idempotency_key"] for mail in mails(api)]

    assert (repeated, kept) == (sent, ["k"])


def test_mail_of_a_held_answer_survives_the_kill(tmp_path: Path) -> None:
    """The mail was taken although nobody was told: its key has had its effect."""
    state = tmp_path / "standin.jsonl"
    with running(state=state) as first, client_of(first.url) as api:
        received(api)
        order(api, kind="accept_then_hold")
        with ThreadPoolExecutor() as pool, client_of(first.url) as other:
            lost = pool.submit(try_reply, other, key="k")
            wait_for(api, held=1)
            first.kill()
            assert lost.result() is None

    with running(state=state) as second, client_of(second.url) as api:
        answer = reply(api, key="k")
        assert (answer.status_code, len(mails(api))) == (200, 1)


def test_sigterm_ends_it_at_once_while_requests_wait() -> None:
    """`make run` stops cleanly, whatever is held or polled."""
    with running() as standin, client_of(standin.url) as api, ThreadPoolExecutor() as pool:
        received(api)
        order(api, kind="accept_then_hold")
        with client_of(standin.url) as one, client_of(standin.url) as two:
            held = pool.submit(reply, one)
            wait_for(api, held=1)
            params = {"accepted": 9, "timeout": 60}
            poll = pool.submit(two.get, "/_standin/wait", params=params)
            wait_for(api, polls=2)

            code = standin.stop()

            assert held.result().status_code == 200
            assert poll.result().json()["reached"] is False
    assert code == 0
