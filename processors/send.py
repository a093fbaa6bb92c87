"""SEND: orders about replies in, one mail a reply out.

Owns: the binding of the core to the runtime, S2, and what must hold at the moment of the call.
May not: decide. Whatever an answer was, it goes to the core as it came.
"""

import asyncio
import os
from collections.abc import Mapping
from functools import partial
from typing import Final, Protocol

from processors.core.outcomes import Answer, Failure, Looked, Stopped
from processors.core.requests import LookCall, PostCall
from processors.core.send import keys, on_record, on_result, on_timer, timer_limits_ms
from processors.core.send_moves import Policy
from processors.core.send_outputs import STAGE
from processors.core.settling import Outcome
from processors.core.turn import Effect
from processors.providers.agentmail_client import AgentMailClient
from processors.providers.guarded_post import Guard
from processors.runtime.control import ControlView
from processors.runtime.stage import Lease, Stage
from schemas.directory import Account, Directory
from schemas.settings import Settings
from schemas.topics import Topic


class Client(Protocol):
    """Calls a provider through one account."""

    async def post(self, call: PostCall, *, guard: Guard, timeout_s: float) -> Answer:
        """Post once. `guard` is called when the request is about to be written."""

    async def look_up(self, call: LookCall, *, timeout_s: float) -> Looked:
        """Look for our reply in its thread."""

    async def close(self) -> None:
        """Close the connections."""


class OpenClient(Protocol):
    """Makes the client of an account."""

    def __call__(self, account: Account, *, environ: Mapping[str, str]) -> Client:
        """The client, which looks its key up in `environ`."""


class Switches(Protocol):
    """What the kill switches say, as far as that is known."""

    @property
    def is_valid(self) -> bool:
        """Whether it is known."""

    def wait_valid(self, timeout_s: float) -> None:
        """Return once it is known, or after the timeout."""

    def off_switch(self, names: tuple[str, ...]) -> str | None:
        """The switch that keeps a call from starting, or None."""


CLIENTS: Final[Mapping[str, OpenClient]] = {"agentmail": AgentMailClient}

# At the start, and when the broker is slow, a call waits this long for the switches; then it
# counts as stopped and is tried again.
SWITCHES_WAIT_S: Final = 2.0


class Withheld(Exception):
    """The call was kept from starting; `outcome` says by what.

    `is_known` is false where no switch is known to be off: nothing is known just now.
    """

    def __init__(self, outcome: Outcome, *, is_known: bool = True) -> None:
        super().__init__("no byte was written")
        self.outcome = outcome
        self.is_known = is_known


def build(settings: Settings, directory: Directory) -> Stage:
    """The stage, ready to run. Its switches are read from the first call on."""
    policy = policy_of(settings)
    clients = {
        name: CLIENTS[account.provider](account, environ=os.environ)
        for name, account in directory.accounts.items()
        if account.provider in CLIENTS
    }
    caller = Caller(clients, ControlView(settings), timeout_s=settings.provider_timeout_ms / 1000)
    return Stage(
        name=STAGE,
        input=Topic.REPLY_COMMANDS,
        changelog=Topic.SEND_STATE,
        on_record=partial(on_record, policy=policy),
        on_timer=partial(on_timer, policy=policy),
        on_result=partial(on_result, policy=policy),
        keys=keys,
        perform=caller.perform,
        close=caller.close,
        timer_limits_ms=timer_limits_ms(policy),
    )


def policy_of(settings: Settings) -> Policy:
    """What these settings say about replies."""
    return Policy(
        writer_timeout_ms=settings.writer_timeout_ms,
        give_up_after_ms=settings.give_up_after_s * 1000,
        approval_expiry_ms=settings.approval_expiry_s * 1000,
        lease_ms=settings.lease_ms,
        calls_at_once=settings.effects_at_once,
    )


class Caller:
    """Carries out SEND's effects: S2, and the look into a thread."""

    def __init__(
        self, clients: Mapping[str, Client], switches: Switches, *, timeout_s: float
    ) -> None:
        self._clients = clients
        self._switches = switches
        self._timeout_s = timeout_s

    async def perform(self, effect: Effect, lease: Lease) -> Outcome:
        """What came of the call. Ends before the lease does, whatever the provider does."""
        call: PostCall | LookCall = effect.request
        client = self._clients.get(call.account)
        if client is None:
            unusable = Answer(failure=Failure.UNCONFIGURED)
            return unusable if isinstance(call, PostCall) else Looked(answer=unusable)
        if isinstance(call, LookCall):
            return await client.look_up(call, timeout_s=self._left_s(lease))
        return await self._post(client, call, lease)

    async def _post(self, client: Client, call: PostCall, lease: Lease) -> Outcome:
        """Post once. A view of the switches that lapses for a moment is waited for again."""
        guard = partial(_guard, call, lease, switches=self._switches)
        clock = asyncio.get_running_loop().time
        wait_until_s = clock() + SWITCHES_WAIT_S
        while True:
            if not self._switches.is_valid:
                wait_s = min(wait_until_s - clock(), lease.seconds_left())
                await asyncio.to_thread(self._switches.wait_valid, wait_s)
            try:
                return await client.post(call, guard=guard, timeout_s=self._left_s(lease))
            except Withheld as error:
                if error.is_known or clock() >= wait_until_s or not lease.is_alive():
                    return error.outcome

    async def close(self) -> None:
        """Close the clients."""
        for client in self._clients.values():
            await client.close()

    def _left_s(self, lease: Lease) -> float:
        return min(self._timeout_s, lease.seconds_left())


def _guard(call: PostCall, lease: Lease, *, switches: Switches) -> None:
    """Return only while the request may be written: inside the lease, with every switch on."""
    if not lease.is_alive():
        raise Withheld(Answer(failure=Failure.UNWRITTEN))
    is_known = switches.is_valid
    if (off := switches.off_switch(call.switches)) is not None:
        raise Withheld(Stopped(switch=off), is_known=is_known)
