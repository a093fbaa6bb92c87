"""Our AgentMail client looks into threads, and where its key comes from."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from ops.standin.launch import Running
from processors.core.outcomes import Answer, Failure, Looked
from tests.contract.agentmail_calls import (
    SHORT_S,
    a_post,
    look,
    post,
    requests_seen,
)
from tests.contract.standin_http import INBOX, order, received


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
