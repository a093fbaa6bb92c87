"""Bodies that are too large for a record: verified, named and kept beside the event loop.

Owns: that few of them are worked on at once, that no more than a part of one is in memory, and the
time that this may take.
May not: keep anything before it is verified; a blob is durable before its record is published.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Final, TypeVar

import msgspec

from ingest.answers import Reason, TurnedAway
from ingest.body import Body
from ingest.delivery import Delivery
from ingest.forms import JSON_TYPE
from ingest.keys import Named, named
from ingest.signatures import PartsVerifier
from ingest.skeleton import Skeleton, Whole
from schemas.blobs import BlobReference, BlobStore, BodySum, reference_to
from schemas.codec import to_json
from schemas.errors import Transient

# A disk is not quicker for more; each has a part in memory, and a skeleton.
AT_ONCE: Final = 2

DoneT = TypeVar("DoneT")


class Keep(msgspec.Struct, frozen=True, kw_only=True):
    """Where large bodies are kept: the store, and the folder in it."""

    store: BlobStore
    folder: str


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What a large body names, and where it will lie."""

    named: Named
    reference: BlobReference


class LargeBodies:
    """The way of large bodies. Lives in one event loop."""

    def __init__(self, keep: Keep, *, deadline: timedelta) -> None:
        self._keep = keep
        self._deadline_s = deadline.total_seconds()
        self._turn = asyncio.Semaphore(AT_ONCE)
        self._whole = asyncio.Lock()
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="large")

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """The time in which one of them is worked on. Raises TurnedAway when it is over.

        What was begun then is left to end by itself: a blob without a record, at worst.
        """
        try:
            async with asyncio.timeout(self._deadline_s), self._turn:
                yield
        except TimeoutError:
            raise TurnedAway(Reason.BLOBS_AWAY) from None
        except (OSError, Transient) as error:
            raise TurnedAway(Reason.BLOBS_AWAY) from error

    async def verified(self, delivery: Delivery, body: Body) -> str:
        """The delivery's id, as its source verifies small bodies."""
        verifier = await delivery.source.verifier(delivery.steady_s)
        headers, now_s = delivery.headers, delivery.came_at_s
        if isinstance(verifier, PartsVerifier):
            verify = verifier.verify_parts
            return await self._beside(lambda: verify(headers, body.parts(), now_s=now_s))
        async with self._whole:  # one in memory is what there is room for
            content = await self._beside(lambda: b"".join(body.parts()))
            return await delivery.source.verify(
                headers, content, now_s=now_s, steady_s=delivery.steady_s
            )

    async def found(self, delivery: Delivery, body: Body, *, delivery_id: str) -> Found:
        """What the body names, as for a small one. Raises TurnedAway."""
        if delivery.kind.name == JSON_TYPE:
            return await self._beside(lambda: self._found(delivery, body, delivery_id))
        async with self._whole:
            return await self._beside(lambda: self._found(delivery, body, delivery_id))

    async def kept(self, body: Body, reference: BlobReference) -> bytes:
        """The record's value, once the body is durable."""
        await self._beside(lambda: self._keep.store.keep(reference, body.parts()))
        return to_json(reference)

    def close(self) -> None:
        """Take no more."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _beside(self, work: Callable[[], DoneT]) -> DoneT:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    def _found(self, delivery: Delivery, body: Body, delivery_id: str) -> Found:
        digest = sha256()
        left = Skeleton() if delivery.kind.name == JSON_TYPE else Whole()
        for part in body.parts():
            digest.update(part)
            left.add(part)
        event = named(
            left.whole(),
            delivery.source.speaker,
            kind=delivery.kind,
            delivery_id=delivery_id,
            digest=digest.hexdigest(),
        )
        reference = reference_to(
            BodySum(body.size_bytes, digest.hexdigest()),
            of=event.key,
            folder=self._keep.folder,
            on=datetime.fromtimestamp(delivery.came_at_s, UTC).date(),
        )
        return Found(named=event, reference=reference)
