"""Calls to the outside, beside the loop: bounded in number, each under a lease.

Owns: the worker thread with its event loop, and the queue of results.
May not: touch state. A result waits here until the loop commits what follows from it.
"""

import asyncio
import logging
import threading
from collections import deque
from dataclasses import dataclass
from typing import Final

from processors.core.turn import Effect, Result
from processors.runtime.clock import boot_s
from processors.runtime.stage import Stage

LOG = logging.getLogger("processors.effects")

# Calls end at once when they are cut off, and connections close without waiting for the other side.
CLOSE_S: Final = 2.5


@dataclass(frozen=True, slots=True, kw_only=True)
class BootLease:
    """A lease that ends at a moment of the boot clock, whatever happens to other clocks."""

    ends_at_s: float

    def is_alive(self) -> bool:
        """Whether the claim still holds."""
        return boot_s() < self.ends_at_s

    def seconds_left(self) -> float:
        """What is left of it; never negative."""
        return max(0.0, self.ends_at_s - boot_s())


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrived:
    """A result and where it belongs. `epoch` names the assignment under which it was started."""

    partition: int
    epoch: int
    result: Result


class Effects:
    """Runs a stage's effects. At most `at_once` are under way; the others wait their turn."""

    def __init__(self, stage: Stage, *, at_once: int) -> None:
        self._stage = stage
        self._results: deque[Arrived] = deque()
        # Each is written by one thread only: the loop starts, the effects' thread ends.
        self._started = 0
        self._ended = 0
        self._loop = asyncio.new_event_loop()
        self._slots = asyncio.Semaphore(at_once)
        self._thread = threading.Thread(target=self._run, name="effects", daemon=True)
        if stage.perform is not None:
            self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            self._loop.close()

    def start(self, effect: Effect, *, partition: int, epoch: int, claimed_at_s: float) -> None:
        """Start an effect whose claim is committed. Its lease counts from when it was decided."""
        lease = BootLease(ends_at_s=claimed_at_s + effect.lease_ms / 1000)
        self._started += 1
        asyncio.run_coroutine_threadsafe(
            self._perform(effect, lease, partition=partition, epoch=epoch), self._loop
        )

    async def _perform(
        self, effect: Effect, lease: BootLease, *, partition: int, epoch: int
    ) -> None:
        assert self._stage.perform is not None  # noqa: S101  # start is called with effects only
        try:
            async with self._slots:
                outcome = await self._stage.perform(effect, lease)
        except Exception:
            # The lease timer turns silence into an unknown outcome; the loop must go on.
            LOG.exception("effect failed", extra={"stage": self._stage.name, "kind": effect.kind})
        else:
            result = Result(effect.kind, effect.id, effect.attempt, outcome)
            self._results.append(Arrived(partition=partition, epoch=epoch, result=result))
        finally:
            self._ended += 1

    def under_way(self) -> int:
        """How many calls have begun or wait for a slot."""
        return self._started - self._ended

    def is_idle(self) -> bool:
        """Whether nothing is under way and no result waits."""
        return self._started == self._ended and not self._results

    def take(self, most: int) -> list[Arrived]:
        """Remove and return results, oldest first."""
        count = min(most, len(self._results))
        return [self._results.popleft() for _ in range(count)]

    def give_back(self, arrived: list[Arrived]) -> None:
        """Put results back at the front: what followed from them was not committed."""
        self._results.extendleft(reversed(arrived))

    def close(self) -> None:
        """Stop the thread. What is under way is cut off; its lease timer settles it later."""
        if self._thread.is_alive():
            asyncio.run_coroutine_threadsafe(self._end(), self._loop)
            self._thread.join(timeout=2 * CLOSE_S)
        else:
            self._loop.close()

    async def _end(self) -> None:
        under_way = asyncio.all_tasks() - {asyncio.current_task()}
        for each in under_way:
            each.cancel()
        try:
            async with asyncio.timeout(CLOSE_S):
                await asyncio.gather(*under_way, return_exceptions=True)
                await self._stage.close()
        except Exception:
            LOG.exception("connections not closed", extra={"stage": self._stage.name})
        finally:
            self._loop.stop()
