import asyncio
import gzip
import json
from pathlib import Path
from urllib.parse import unquote

import pytest

from processors.core.fetch_calls import Found, Never, NotNow, NotThere, Outcome, ReadCall
from processors.core.turn import MAX_VALUE_BYTES
from processors.providers.agentmail_reader import AgentMailReader
from schemas.directory import Account
from schemas.keys import EventId, InboxId, MessageId
from tests.contract.wire import (
    Answer,
    Asked,
    listening,
    response,
    saying,
    saying_and_closing,
)
from tests.inbound import read as event_in
from tests.payloads import INBOX, a_message

ANSWER = json.dumps(a_message()).encode()
CALL = ReadCall(
    provider="agentmail",
    account="mail",
    inbox_id=InboxId(INBOX),
    message_id=MessageId("m1@customer.example"),
    spelling="<m1@customer.example>",
    event_id=EventId("h1"),
)
KEYS = {"MAIL_KEY": "am_test"}


def outcome_of(
    answer: Answer,
    *,
    call: ReadCall = CALL,
    keys: dict[str, str] | None = None,
    timeout_s: float = 20,
) -> Outcome:
    """What comes of a call to a provider that answers like this."""
    outcome, _asked = asyncio.run(reading(answer, call=call, keys=keys, timeout_s=timeout_s))
    return outcome


async def reading(
    answer: Answer,
    *,
    call: ReadCall = CALL,
    keys: dict[str, str] | None = None,
    timeout_s: float = 20,
) -> tuple[Outcome, list[Asked]]:
    """What comes of a call to a provider that answers like this, and what that was asked."""
    async with listening(answer) as wire:
        account = Account(provider="agentmail", base_url=f"{wire.url}/", api_key="MAIL_KEY")
        reader = AgentMailReader(account, environ=KEYS if keys is None else keys)
        try:
            return await reader.read(call, timeout_s=timeout_s), wire.requests
        finally:
            await reader.close()


def request_of(call: ReadCall) -> Asked:
    """The request that the provider gets for this call."""
    _outcome, (asked,) = asyncio.run(reading(saying(response(ANSWER)), call=call))
    return asked


def test_an_answer_is_found_as_a_webhooks_body() -> None:
    """DEDUPE reads it like any other."""
    outcome = outcome_of(saying(response(ANSWER)))

    assert isinstance(outcome, Found)
    assert event_in(outcome.body).text == "Hello"


def test_the_account_asks_with_its_own_key() -> None:
    """As the contract says."""
    request = request_of(CALL)

    assert (request.line[:4], request.headers["authorization"]) == ("GET ", "Bearer am_test")


@pytest.mark.parametrize(
    "spelling",
    [
        "<m1@x.example>",
        "<o/r/pull/1@x>",
        "<a b+c@x>",
        "<50%25@x?y#z>",
        "..",
        "<grüße@x>",
        "<a;b@x>",
    ],
)
def test_an_id_is_one_segment_of_the_path(spelling: str) -> None:
    """A slash, a question mark or dots in an id must not lead elsewhere."""
    call = ReadCall(
        provider="agentmail",
        account="mail",
        inbox_id=InboxId("a/b@x.example"),
        message_id=MessageId("m"),
        spelling=spelling,
        event_id=EventId("h1"),
    )

    target = request_of(call).target

    segments = [unquote(each) for each in target.split("/")]
    assert segments == ["", "v0", "inboxes", "a/b@x.example", "messages", spelling]


@pytest.mark.parametrize("status", [401, 403, 408, 409, 425, 429, 500, 502, 503, 204, 301, 304])
def test_what_may_be_otherwise_next_time_is_asked_again(status: int) -> None:
    """Keys are mended, limits pass, servers come back."""
    headers = {"retry-after": "7"}

    outcome = outcome_of(saying(response(b"", status=status, headers=headers)))

    assert outcome == NotNow(reason=f"status {status}", retry_after="7")


def test_a_message_that_is_not_there_is_said_to_be_missing() -> None:
    """It may have been announced before it can be read."""
    assert outcome_of(saying(response(b"", status=404))) == NotThere(reason="status 404")


@pytest.mark.parametrize("status", [400, 405, 410, 422])
def test_what_asking_again_cannot_mend_is_not_asked_again(status: int) -> None:
    """The call itself is at fault."""
    assert outcome_of(saying(response(b"", status=status))) == Never(reason=f"status {status}")


def test_a_redirect_is_not_followed() -> None:
    """The key is for this host alone."""
    away = response(b"", status=307, headers={"Location": "/elsewhere"})

    outcome, asked = asyncio.run(reading(saying(away)))

    assert (len(asked), outcome) == (1, NotNow(reason="status 307"))


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"{}", json.dumps(a_message(message_id="<m2@x>")).encode()]
)
def test_an_answer_that_is_not_the_message_is_asked_again(body: bytes) -> None:
    """A proxy's page with status 200 is no mail, and no reason to give up."""
    assert isinstance(outcome_of(saying(response(body))), NotNow)


def test_an_answer_above_the_limit_is_not_read_to_its_end() -> None:
    """No record could hold it, nor need this process."""
    body = b" " * (MAX_VALUE_BYTES + 1)

    assert isinstance(outcome_of(saying(response(body))), Never)


@pytest.mark.parametrize("body", [b"\0" * (MAX_VALUE_BYTES + 1), ANSWER])
def test_a_compressed_answer_counts_by_what_it_holds(body: bytes) -> None:
    """A small answer may hold a large one."""
    packed = response(gzip.compress(body), headers={"Content-Encoding": "gzip"})

    expected = Found if body == ANSWER else Never
    assert isinstance(outcome_of(saying(packed)), expected)


def test_a_provider_that_never_answers_costs_its_time_and_no_more() -> None:
    """The lease is longer than the call."""
    assert outcome_of(saying(b""), timeout_s=1.0) == NotNow(reason="TimeoutError")


def test_a_connection_that_breaks_is_no_answer() -> None:
    """Its kind is kept, its words are not: they may hold an address."""
    outcome, asked = asyncio.run(reading(saying_and_closing(b"")))

    assert (outcome, len(asked)) == (NotNow(reason="ClientConnectionError"), 1)


@pytest.mark.parametrize("keys", [{}, {"MAIL_KEY": " "}, {"MAIL_KEY_FILE": "/nowhere/at/all"}])
def test_without_a_key_nothing_is_asked(keys: dict[str, str]) -> None:
    """Somebody can still set it; the reason names the variable."""
    outcome = outcome_of(saying(response(ANSWER)), keys=keys)

    assert isinstance(outcome, NotNow)
    assert outcome.reason.startswith("MAIL_KEY")


def test_a_key_may_lie_in_a_file(tmp_path: Path) -> None:
    """As secrets are mounted."""
    path = tmp_path / "key"
    path.write_text("am_test\n")

    assert isinstance(
        outcome_of(saying(response(ANSWER)), keys={"MAIL_KEY_FILE": str(path)}), Found
    )
