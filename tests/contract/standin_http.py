"""Talk to a running stand-in with plain httpx: what its contract tests share.

Owns: paths, requests and waits in the provider's own words.
May not: use any client of ours.
"""

from typing import Any
from urllib.parse import quote

import httpx

INBOX = "help@x.example"
OTHER_INBOX = "sales@x.example"
MESSAGE_ID = "<m1@y.example>"
REPLY: dict[str, Any] = {"text": "Hello Ann", "headers": {"Auto-Submitted": "auto-replied"}}


def client_of(url: str) -> httpx.Client:
    """A client of this provider with a valid key."""
    return httpx.Client(
        base_url=url, headers={"Authorization": "Bearer am_test"}, timeout=30, trust_env=False
    )


def received(api: httpx.Client, **members: Any) -> dict[str, Any]:
    """A customer's mail, put into an inbox."""
    message = {"inbox_id": INBOX, "message_id": MESSAGE_ID, "text": "Hi", **members}
    answer = api.post("/_standin/inbound", json={"mails": [{"message": message}]})
    assert answer.status_code == 200, answer.text
    arrived: dict[str, Any] = answer.json()["mails"][0]
    return arrived


def path_of(message_id: str, *, inbox_id: str = INBOX) -> str:
    """The path of a message, each id encoded whole."""
    return f"/v0/inboxes/{quote(inbox_id, safe='')}/messages/{quote(message_id, safe='')}"


def reply(
    api: httpx.Client, message_id: str = MESSAGE_ID, *, key: str | None = None, **body: Any
) -> httpx.Response:
    """A reply to the message, under the key if there is one."""
    headers = {} if key is None else {"Idempotency-Key": key}
    return api.post(f"{path_of(message_id)}/reply", json=body or REPLY, headers=headers)


def order(api: httpx.Client, **fault: Any) -> None:
    """A fault for the next request of its kind."""
    answer = api.post("/_standin/faults", json={"faults": [{"operation": "reply", **fault}]})
    assert answer.status_code == 200, answer.text


def mails(api: httpx.Client) -> list[dict[str, Any]]:
    """Every mail that was accepted."""
    rows: list[dict[str, Any]] = api.get("/_standin/mailbox").json()["mails"]
    return rows


def wait_for(api: httpx.Client, **counts: int) -> None:
    """Return once the provider's counts are that high."""
    answer = api.get("/_standin/wait", params={**counts, "timeout": 20}).json()
    assert answer["reached"], f"waited for {counts}, found {answer}"


def try_reply(api: httpx.Client, *, key: str) -> httpx.Response | None:
    """A reply, or None when the connection ends without an answer."""
    try:
        return reply(api, key=key)
    except (httpx.RemoteProtocolError, httpx.ReadError):
        return None


def minute(number: int) -> str:
    """An instant of the test's hour."""
    return f"2026-11-30T10:{number:02}:00Z"
