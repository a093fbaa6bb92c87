import asyncio

import pytest

from processors import dedupe, fetch
from processors.core.fetch_calls import Found, Never, NotNow, Outcome, ReadCall
from processors.core.turn import Effect
from processors.fetch import read
from processors.runtime.stage import Stage
from schemas.keys import EventId, InboxId, MessageId
from schemas.settings import load_settings
from schemas.topics import Topic
from tests.inbound import DIRECTORY
from tests.payloads import INBOX

CALL = ReadCall(
    provider="agentmail",
    account="mail",
    inbox_id=InboxId(INBOX),
    message_id=MessageId("m1@customer.example"),
    spelling="<m1@customer.example>",
    event_id=EventId("h1"),
)


class Lease:
    """A lease with this much left."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def is_alive(self) -> bool:
        """Whether anything is left."""
        return self.seconds > 0

    def seconds_left(self) -> float:
        """What is left."""
        return self.seconds


class Reader:
    """Answers at once, and keeps the time that it was given."""

    def __init__(self) -> None:
        self.timeouts: list[float] = []

    async def read(self, call: ReadCall, *, timeout_s: float) -> Outcome:
        """The message's spelling, as a body."""
        self.timeouts.append(timeout_s)
        return Found(body=call.spelling.encode())

    async def close(self) -> None:
        """Nothing is open."""


def test_a_call_under_a_claim_that_ran_out_is_not_made() -> None:
    """Another worker may be asking already."""
    reader = Reader()

    outcome = asyncio.run(read(CALL, {"mail": reader}, lease=Lease(0), timeout_s=5))

    assert (outcome, reader.timeouts) == (NotNow(reason="the claim ran out before the call"), [])


@pytest.mark.parametrize(("left_s", "given_s"), [(15, 10), (2, 2)])
def test_a_call_ends_before_its_claim_does(left_s: float, given_s: float) -> None:
    """Whatever the settings allow for one call."""
    reader = Reader()

    outcome = asyncio.run(read(CALL, {"mail": reader}, lease=Lease(left_s), timeout_s=10))

    assert (outcome, reader.timeouts) == (Found(body=b"<m1@customer.example>"), [given_s])


def test_an_account_that_nobody_reads_is_never_asked() -> None:
    """It was taken out of the configuration while the request waited."""
    outcome = asyncio.run(read(CALL, {}, lease=Lease(15), timeout_s=10))

    assert outcome == Never(reason="no reader for this account's provider")


def test_fetch_reads_requests_and_keeps_its_own_state(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the runtime is given; without a key the call says so."""
    monkeypatch.delenv("MAIL_KEY", raising=False)
    stage = fetch.build(load_settings(), DIRECTORY)

    outcome = asyncio.run(_awaited(stage, Effect("read", "n", "0-1", CALL, 15_000)))

    assert (stage.name, stage.input, stage.changelog) == (
        "fetch",
        Topic.FETCH_REQUESTS,
        Topic.FETCH_STATE,
    )
    assert set(stage.timer_limits_ms) == {"lease", "retry", "forget"}
    assert outcome == NotNow(reason="MAIL_KEY holds no usable key")


async def _awaited(stage: Stage, effect: Effect) -> Outcome:
    assert stage.perform is not None
    outcome: Outcome = await stage.perform(effect, Lease(15))
    await stage.close()
    return outcome


def test_dedupe_reads_what_came_from_outside_and_keeps_its_own_state() -> None:
    """What the runtime is given."""
    stage = dedupe.build(load_settings(), DIRECTORY)

    assert (stage.name, stage.input, stage.changelog, stage.perform) == (
        "dedupe",
        Topic.INBOUND_EVENTS,
        Topic.DEDUPE_STATE,
        None,
    )
