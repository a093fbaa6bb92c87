import asyncio

import httpx
import pytest

from ops.standin.launch import Running
from processors.core.dedupe import identity_of
from processors.core.fetch_calls import Found, NotNow, NotThere, Outcome, ReadCall
from processors.core.intake import Intake
from processors.providers import agentmail
from processors.providers.agentmail_reader import AgentMailReader
from schemas.directory import Account
from schemas.events import Kind, Where
from schemas.keys import EventId, EventKey, InboxId, MessageId, SourceName, canonical_id
from tests.contract.endpoint import listening
from tests.contract.standin_http import INBOX, received, wait_for


def call_for(spelling: str) -> ReadCall:
    """The call that reads the message of this id."""
    return ReadCall(
        provider="agentmail",
        account="mail",
        inbox_id=InboxId(INBOX),
        message_id=MessageId(canonical_id(spelling) or ""),
        spelling=spelling,
        event_id=EventId("h1"),
    )


def outcome_of(provider: Running, spelling: str, *, key: str = "am_test") -> Outcome:
    """What comes of reading this message from the provider."""
    account = Account(provider="agentmail", base_url=provider.url, api_key="MAIL_KEY")
    reader = AgentMailReader(account, environ={"MAIL_KEY": key})

    async def once() -> Outcome:
        try:
            return await reader.read(call_for(spelling), timeout_s=10)
        finally:
            await reader.close()

    return asyncio.run(once())


def order(api: httpx.Client, **fault: object) -> None:
    """A fault for the next reading of a message."""
    ordered = {"faults": [{"operation": "message", **fault}]}
    api.post("/_standin/faults", json=ordered).raise_for_status()


@pytest.mark.parametrize(
    "spelling",
    ["<m1@y.example>", "<o/r/pull/1@y>", "<a b+c?d#e%25@y>", "<ü@y>"],
)
def test_a_mail_is_read_whatever_its_id(
    provider: Running, api: httpx.Client, spelling: str
) -> None:
    """An id is one percent-encoded segment to both sides."""
    received(api, message_id=spelling, text="x" * 1_100_000)

    outcome = outcome_of(provider, spelling)

    assert isinstance(outcome, Found)
    event = agentmail.read(outcome.body, INTAKE)
    assert (event.kind, event.message_id, len(event.text or "")) == (
        Kind.RECEIVED,
        canonical_id(spelling),
        1_100_000,
    )


def test_a_mail_that_is_not_there_is_missing(provider: Running, api: httpx.Client) -> None:
    """It may come; the stage decides how long to ask."""
    received(api)

    assert outcome_of(provider, "<other@y.example>") == NotThere(reason="status 404")


def test_a_key_that_is_refused_may_be_mended(provider: Running, api: httpx.Client) -> None:
    """No mail is given up because a key was rotated."""
    received(api)

    assert isinstance(outcome_of(provider, "<m1@y.example>", key="not a key"), NotNow)


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "status", "status": 500},
        {"kind": "status", "status": 429, "retry_after": "3"},
        {"kind": "drop"},
    ],
    ids=["500", "429", "dropped"],
)
def test_a_provider_in_trouble_is_asked_again(
    provider: Running, api: httpx.Client, fault: dict[str, object]
) -> None:
    """And after that the mail is there."""
    received(api)
    order(api, **fault)

    first, second = (outcome_of(provider, "<m1@y.example>") for _ in range(2))

    assert isinstance(first, NotNow)
    assert first.retry_after == fault.get("retry_after")
    assert isinstance(second, Found)


def test_a_large_mail_is_announced_and_read_as_one_message(
    provider: Running, api: httpx.Client
) -> None:
    """Both name it alike, or one mail would be two; and what was left out is there."""
    text = "x" * 1_100_000
    with listening() as endpoint:
        api.post("/v0/webhooks", json={"url": endpoint.url}).raise_for_status()
        message = {"inbox_id": INBOX, "message_id": "<m1@y.example>", "text": text}
        told = {"mails": [{"message": message}], "webhooks": "once"}
        api.post("/_standin/inbound", json=told).raise_for_status()
        wait_for(api, delivered=1)
    _headers, pushed = endpoint.requests[0]

    outcome = outcome_of(provider, "<m1@y.example>")

    assert isinstance(outcome, Found)
    announced = agentmail.read(pushed, INTAKE._replace(is_read_back=False))
    whole = agentmail.read(outcome.body, INTAKE)
    assert (announced.kind, whole.kind) == (Kind.ANNOUNCED, Kind.RECEIVED)
    assert (announced.text, whole.text) == (None, text)
    assert identity_of(announced) == identity_of(whole)
    assert (announced.thread_key, announced.occurred_at_ns) == (
        whole.thread_key,
        whole.occurred_at_ns,
    )


INTAKE = Intake(
    event_key=EventKey("fetch:support/h1"),
    event_id=EventId("h1"),
    source=SourceName("support"),
    provider="agentmail",
    workspace="main",
    received_at_ms=1_796_032_800_000,
    origin=Where(topic="inbound-events", partition=0, offset=0),
    is_read_back=True,
)
