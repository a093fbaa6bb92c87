"""S2 in the shell: what keeps a call from starting, and what comes back when it does."""

import asyncio
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from processors.core.outcomes import Answer, Failure, Looked, Stopped
from processors.core.requests import LookCall, PostCall
from processors.core.send import timer_limits_ms
from processors.core.settling import Outcome
from processors.core.turn import Effect
from processors.providers.account_key import NoKey, account_key
from processors.providers.guarded_post import Guard
from processors.send import Caller, build, policy_of
from schemas.directory import Account, Directory
from schemas.settings import load_settings
from schemas.topics import Topic
from tests.sending import SENT, a_sender, a_text, an_ask

FOUND = Looked(answer=Answer(status=200), found=("<r@x>", None))


@dataclass(kw_only=True)
class HandLease:
    """A lease that ends when the test says so."""

    left_s: float = 10.0

    def is_alive(self) -> bool:
        """Whether it has not ended."""
        return self.left_s > 0

    def seconds_left(self) -> float:
        """What the test left of it."""
        return self.left_s


@dataclass(kw_only=True)
class HandSwitches:
    """Switches that the test sets; not known before they were waited for, if it says so."""

    off: str | None = None
    is_valid: bool = True
    becomes_valid: bool = True
    lapses: int = 0

    def wait_valid(self, timeout_s: float) -> None:
        """They become known, or not."""
        if not self.becomes_valid:
            threading.Event().wait(timeout_s)
        self.is_valid = self.becomes_valid

    def off_switch(self, names: tuple[str, ...]) -> str | None:
        """The one that is off, or the first where nothing is known."""
        return self.off if self.is_valid else names[0]


@dataclass(kw_only=True)
class HandClient:
    """A client that connects, asks its guard, and posts."""

    lease: HandLease = field(default_factory=HandLease)
    connecting_s: float = 0.0
    switches: HandSwitches | None = None
    posted: list[PostCall] = field(default_factory=list)
    timeouts_s: list[float] = field(default_factory=list)
    closed: int = 0

    async def post(self, call: PostCall, *, guard: Guard, timeout_s: float) -> Answer:
        """Post, unless the guard keeps it back."""
        self.timeouts_s.append(timeout_s)
        self.lease.left_s -= self.connecting_s
        if self.switches and self.switches.lapses:
            self.switches.lapses -= 1
            self.switches.is_valid = False
        guard()
        self.posted.append(call)
        return SENT

    async def look_up(self, call: LookCall, *, timeout_s: float) -> Looked:
        """Our reply is there."""
        assert call.answered_id
        self.timeouts_s.append(timeout_s)
        return FOUND

    async def close(self) -> None:
        """Nothing is open."""
        self.closed += 1


def a_post() -> Effect:
    """The call of a claimed reply."""
    return a_sender(an_ask(), a_text()).calls[0]


def a_look() -> Effect:
    """The call of a reply that is looked for."""
    call = LookCall(provider="agentmail", account="main", path="/v0", answered_id="m1@x")
    return a_post()._replace(kind="look-up", request=call)


def perform(
    effect: Effect,
    client: HandClient,
    *,
    switches: HandSwitches | None = None,
    accounts: tuple[str, ...] = ("main",),
) -> Outcome:
    """What came of the effect."""
    clients: Mapping[str, HandClient] = dict.fromkeys(accounts, client)
    caller = Caller(clients, switches or HandSwitches(), timeout_s=5.0)
    return asyncio.run(caller.perform(effect, client.lease))


def test_call_is_made_while_lease_and_switches_hold() -> None:
    """The usual case."""
    client = HandClient()

    outcome = perform(a_post(), client)

    assert (outcome, len(client.posted)) == (SENT, 1)


def test_switch_that_is_off_stops_the_call() -> None:
    """The outcome names it, so that the right replies wait."""
    client = HandClient()

    outcome = perform(a_post(), client, switches=HandSwitches(off="sends:acme"))

    assert (outcome, client.posted) == (Stopped(switch="sends:acme"), [])


def test_first_call_waits_until_the_switches_are_known() -> None:
    """A start must not count as a stop."""
    client = HandClient()

    outcome = perform(a_post(), client, switches=HandSwitches(is_valid=False))

    assert outcome == SENT


def test_switches_that_lapse_while_connecting_are_waited_for() -> None:
    """A slow answer of the broker is no stop, and must not hold the account's other replies."""
    switches = HandSwitches(lapses=2)
    client = HandClient(switches=switches)

    outcome = perform(a_post(), client, switches=switches)

    assert (outcome, len(client.posted)) == (SENT, 1)


def test_call_does_not_start_while_the_switches_are_unknown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Not knowing is not on."""
    monkeypatch.setattr("processors.send.SWITCHES_WAIT_S", 0.02)
    client = HandClient()
    unknown = HandSwitches(is_valid=False, becomes_valid=False)

    outcome = perform(a_post(), client, switches=unknown)

    assert (outcome, client.posted) == (Stopped(switch="sends"), [])


def test_lease_that_ended_while_connecting_stops_the_call() -> None:
    """Somebody else may have claimed the reply by now."""
    client = HandClient(lease=HandLease(left_s=3.0), connecting_s=4.0)

    outcome = perform(a_post(), client)

    assert (outcome, client.posted) == (Answer(failure=Failure.UNWRITTEN), [])


@pytest.mark.parametrize("effect", [a_post(), a_look()], ids=["post", "look"])
def test_call_has_no_longer_than_its_lease(effect: Effect) -> None:
    """An answer that comes later does not count any more."""
    client = HandClient(lease=HandLease(left_s=2.0))

    perform(effect, client)

    assert client.timeouts_s == [2.0]


def test_look_needs_no_switch() -> None:
    """It posts nothing."""
    outcome = perform(a_look(), HandClient(), switches=HandSwitches(off="sends"))

    assert outcome == FOUND


@pytest.mark.parametrize("effect", [a_post(), a_look()], ids=["post", "look"])
def test_account_that_is_not_configured_is_an_answer(effect: Effect) -> None:
    """Its replies wait until somebody mends the file; they are not lost."""
    outcome = perform(effect, HandClient(), accounts=())

    answer = outcome.answer if isinstance(outcome, Looked) else outcome
    assert answer == Answer(failure=Failure.UNCONFIGURED)


def test_stage_is_bound_to_its_topics() -> None:
    """Orders in, its own changelog, and a limit for each kind of timer."""
    settings = load_settings()
    account = Account(provider="agentmail", base_url="http://127.0.0.1:1", api_key="MAIL_KEY")

    stage = build(settings, Directory(accounts={"main": account}))

    assert (stage.name, stage.input, stage.changelog) == (
        "send",
        Topic.REPLY_COMMANDS,
        Topic.SEND_STATE,
    )
    assert stage.timer_limits_ms == timer_limits_ms(policy_of(settings))


ACCOUNT = Account(provider="agentmail", base_url="http://127.0.0.1:1", api_key="MAIL_KEY")


def test_key_comes_from_its_variable_before_its_file(tmp_path: Path) -> None:
    """One of the two is enough, and the variable is the nearer."""
    (tmp_path / "key").write_text("from-file\n", encoding="ascii")
    file = {"MAIL_KEY_FILE": str(tmp_path / "key")}

    assert account_key(ACCOUNT, file) == "from-file"
    assert account_key(ACCOUNT, file | {"MAIL_KEY": "from-variable"}) == "from-variable"


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"MAIL_KEY": " "},
        {"MAIL_KEY": "two\nlines"},
        {"MAIL_KEY": "schl\u00fcssel"},
        {"MAIL_KEY_FILE": "/nonexistent/key"},
    ],
)
def test_key_that_cannot_stand_in_a_header_is_no_key(environ: dict[str, str]) -> None:
    """The error names the variable and never what it holds."""
    with pytest.raises(NoKey, match=r"^MAIL_KEY") as caught:
        account_key(ACCOUNT, environ)

    assert all(
        value.strip() not in str(caught.value) for value in environ.values() if value.strip()
    )


def test_clients_are_closed_with_their_stage() -> None:
    """Connections of a worker that ends are not left to the provider."""
    first, second = HandClient(), HandClient()

    asyncio.run(Caller({"a": first, "b": second}, HandSwitches(), timeout_s=5.0).close())

    assert (first.closed, second.closed) == (1, 1)
