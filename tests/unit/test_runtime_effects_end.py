import asyncio
import threading
from dataclasses import replace

from processors.core.turn import Effect
from processors.runtime.clock import boot_s
from processors.runtime.effects import Effects
from processors.runtime.stage import Lease
from tests.stages import STAGE

DEADLINE_S = 20.0
EFFECT = Effect("call", "m1", "1", None, 60_000)


def test_what_calls_keep_open_is_closed_after_the_last_of_them() -> None:
    """A call that lost its connection under it would look like the provider's fault."""
    told: list[str] = []
    under_way = threading.Event()

    async def perform(_effect: Effect, _lease: Lease) -> None:
        under_way.set()
        try:
            await asyncio.Event().wait()
        finally:
            told.append("cut off")

    async def close() -> None:
        told.append("closed")

    effects = Effects(replace(STAGE, perform=perform, close=close), at_once=1)
    for _ in range(2):
        effects.start(EFFECT, partition=0, epoch=1, claimed_at_s=boot_s())
    assert under_way.wait(DEADLINE_S)
    effects.close()

    assert told == ["cut off", "closed"]
    assert effects.take(10) == []
