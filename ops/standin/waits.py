"""Waiting for the provider, and the provider waiting: signals out, holds in.

Owns: waking long polls when anything changed, and the requests that are held on purpose.
May not: wait without a limit.
"""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from enum import StrEnum
from typing import Any


class Signals:
    """Wakes everyone who waits for the provider's counts to change."""

    def __init__(self) -> None:
        self._changed = asyncio.Event()
        self._is_closed = False
        self.waiting = 0

    def notify(self) -> None:
        """Something changed: each waiter looks again."""
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    def close(self) -> None:
        """Nothing will change any more: every wait ends."""
        self._is_closed = True
        self.notify()

    async def reached(self, is_reached: Callable[[], bool], *, seconds: float) -> bool:
        """True as soon as the condition holds, False when it does not within the time."""
        self.waiting += 1
        self.notify()
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    while not is_reached() and not self._is_closed:
                        await self._changed.wait()
            return is_reached()
        finally:
            self.waiting -= 1


class HoldEnd(StrEnum):
    """Why a held request went on."""

    RELEASED = "released"
    LAPSED = "lapsed"
    CLIENT_LEFT = "client left"


async def never() -> None:
    """Does not return. Who waits for it has another way out."""
    await asyncio.get_running_loop().create_future()


class Holds:
    """The requests that are held now. Each ends by release, by its time, or with its client."""

    def __init__(self, *, signals: Signals) -> None:
        self._signals = signals
        self._release = asyncio.Event()
        self.count = 0

    def release(self) -> int:
        """Let every held request go on; how many there were."""
        released, self._release = self._release, asyncio.Event()
        released.set()
        return self.count

    async def hold(
        self, seconds: float, *, left: Callable[[], Coroutine[Any, Any, object]] = never
    ) -> HoldEnd:
        """Keep the request until it is released, its time is over, or `left` returns."""
        released = asyncio.ensure_future(self._release.wait())
        gone = asyncio.ensure_future(left())
        self.count += 1
        self._signals.notify()
        try:
            done, _ = await asyncio.wait(
                {released, gone}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            self.count -= 1
            released.cancel()
            gone.cancel()
            self._signals.notify()
        if gone in done:
            return HoldEnd.CLIENT_LEFT
        return HoldEnd.RELEASED if released in done else HoldEnd.LAPSED
