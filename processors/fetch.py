"""FETCH: announced mails in, their content into the topic that holds all that came from outside.

Owns: the binding of the core to the runtime, and the call to the provider.
May not: decide.
"""

import os
from collections.abc import Mapping
from typing import Final, Protocol

from processors.core.fetch import (
    FORGET,
    KEPT_MS,
    LEASE,
    LEASE_GRACE_MS,
    RETRY,
    STAGE,
    Fetch,
    Patience,
    keys,
)
from processors.core.fetch_calls import Never, NotNow, Outcome, ReadCall
from processors.core.retry import RETRY_AFTER_CAP_MS
from processors.core.turn import Effect
from processors.providers.agentmail_reader import AgentMailReader
from processors.runtime.stage import Lease, Stage
from schemas.directory import Account, Directory
from schemas.settings import Settings
from schemas.topics import Topic


class Reader(Protocol):
    """Reads messages through one account."""

    async def read(self, call: ReadCall, *, timeout_s: float) -> Outcome:
        """What came of one call."""

    async def close(self) -> None:
        """Close the connections."""


class OpenReader(Protocol):
    """Makes the reader of an account."""

    def __call__(self, account: Account, *, environ: Mapping[str, str]) -> Reader:
        """The reader, which looks its key up in `environ`."""


READERS: Final[Mapping[str, OpenReader]] = {"agentmail": AgentMailReader}


def build(settings: Settings, directory: Directory) -> Stage:
    """The stage, ready to run."""
    patience = Patience(
        lease_ms=settings.lease_ms,
        # REORDER waits no longer for the mail than this, and a 404 rarely turns into one later.
        not_there_ms=settings.fetch_wait_ms,
        give_up_ms=settings.give_up_after_s * 1000,
    )
    fetch = Fetch(directory, patience)
    readers = {
        name: READERS[account.provider](account, environ=os.environ)
        for name, account in directory.accounts.items()
        if account.provider in READERS
    }
    timeout_s = settings.provider_timeout_ms / 1000

    async def perform(effect: Effect, lease: Lease) -> Outcome:
        return await read(effect.request, readers, lease=lease, timeout_s=timeout_s)

    async def close() -> None:
        for reader in readers.values():
            await reader.close()

    return Stage(
        name=STAGE,
        input=Topic.FETCH_REQUESTS,
        changelog=Topic.FETCH_STATE,
        on_record=fetch.on_record,
        on_timer=fetch.on_timer,
        on_result=fetch.on_result,
        keys=keys,
        perform=perform,
        close=close,
        timer_limits_ms={
            LEASE: settings.lease_ms + LEASE_GRACE_MS,
            RETRY: RETRY_AFTER_CAP_MS,
            FORGET: KEPT_MS,
        },
    )


async def read(
    call: ReadCall, readers: Mapping[str, Reader], *, lease: Lease, timeout_s: float
) -> Outcome:
    """F2: read the message, if the claim still holds."""
    reader = readers.get(call.account)
    if reader is None:
        return Never(reason="no reader for this account's provider")
    if not lease.is_alive():
        return NotNow(reason="the claim ran out before the call")
    return await reader.read(call, timeout_s=min(timeout_s, lease.seconds_left()))
