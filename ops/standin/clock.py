"""The provider's time: the machine's, moved forward by hand.

Owns: how far the clock was moved, and waking those who wait for an instant.
May not: go back, except to the machine's own time on a reset.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta


def machine_time() -> datetime:
    """Now, in UTC."""
    return datetime.now(UTC)


class Clock:
    """Tells the time, and waits for it. A key's day can pass in one call."""

    def __init__(self, *, read: Callable[[], datetime] = machine_time) -> None:
        self._read = read
        self._ahead = timedelta()
        self._moved = asyncio.Event()

    def now(self) -> datetime:
        """The provider's present instant, aware, in UTC."""
        return self._read() + self._ahead

    def advance(self, by: timedelta) -> None:
        """Move forward. Everyone whose instant has come is woken."""
        self._ahead += by
        self._wake()

    def reset(self) -> None:
        """Show the machine's own time again."""
        self._ahead = timedelta()
        self._wake()

    async def until(self, due: datetime) -> None:
        """Return at that instant: by waiting for it, or because the clock was moved past it."""
        while (left := (due - self.now()).total_seconds()) > 0:
            moved = self._moved
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await moved.wait()

    def _wake(self) -> None:
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()
