"""One delivery: bounded, verified, named, stored, and only then answered.

Owns: the order of these steps, and one outcome counted for each delivery.
May not: parse anything before it is verified, or answer before the broker has.
"""

import logging
import time
from collections.abc import Awaitable, Callable

import msgspec
from starlette.types import Message, Receive, Scope, Send

from ingest.answers import Reason, TurnedAway, turned_away
from ingest.body import Body, ClientGone, Reader
from ingest.delivery import Delivery
from ingest.forms import kind_of
from ingest.keys import named
from ingest.large import LargeBodies
from ingest.metrics import UNKNOWN, Metrics
from ingest.records import Inbound, inbound, inbound_blob
from ingest.signatures import PATH, Headers
from ingest.sources import OpenSource, OpenSources

Publish = Callable[[Inbound], Awaitable[None]]

log = logging.getLogger(__name__)


class Clock(msgspec.Struct, frozen=True):
    """The two clocks: what time it is, and how much time passes."""

    wall_s: Callable[[], float] = time.time
    steady_s: Callable[[], float] = time.monotonic


class Means(msgspec.Struct, frozen=True, kw_only=True):
    """What deliveries are taken with: how bodies are read, where they go, and how many at once."""

    reader: Reader
    large: LargeBodies
    publish: Publish
    in_hand: int


class Door:
    """An ASGI application for the path of one source, named `source` by the route."""

    def __init__(
        self,
        sources: OpenSources,
        means: Means,
        *,
        clock: Clock,
        metrics: Metrics,
    ) -> None:
        self._sources = sources
        self._means = means
        self._clock = clock
        self._metrics = metrics
        self._in_hand = 0

    def in_hand(self) -> int:
        """How many deliveries are being worked on."""
        return self._in_hand

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take one delivery and answer it."""
        try:
            start, body = await self._answer(scope, receive)
        except ClientGone:
            return
        await send(start)  # I6: from here the sender forgets the event
        await send(body)

    async def _answer(self, scope: Scope, receive: Receive) -> tuple[Message, Message]:
        name: str = scope["path_params"]["source"]
        source = self._sources.get(name)
        if source is None or ("secret" in scope["path_params"]) != bool(
            source.settings.path_secrets
        ):
            return self._settled(UNKNOWN, TurnedAway(Reason.UNKNOWN_SOURCE))
        if self._in_hand >= self._means.in_hand:
            return self._settled(name, TurnedAway(Reason.BUSY))
        self._in_hand += 1
        try:
            await self._take(source, scope, receive)
        except TurnedAway as error:
            return self._settled(name, error)
        except ClientGone:
            if not scope.get("state", {}).get("refused"):  # else it is counted, with its reason
                self._metrics.settled(name, "sender-gone")
            raise
        finally:
            self._in_hand -= 1
        self._metrics.settled(name, "accepted")
        return source.accepted

    async def _take(self, source: OpenSource, scope: Scope, receive: Receive) -> None:
        """Return once the delivery's event is durable. Raises TurnedAway or ClientGone."""
        headers = _headers(scope)
        _check_head(scope["method"], headers, self._means.reader.limit_bytes)
        kind = kind_of(headers, source.speaker.rules.takes)
        body = await self._means.reader.read(receive)  # I1: every byte, and no more than the limit
        try:
            delivery = Delivery(
                source=source,
                headers=headers,
                kind=kind,
                came_at_s=self._clock.wall_s(),
                steady_s=self._clock.steady_s(),
            )
            take = self._small if body.is_inline else self._large
            record = await take(delivery, body)
            handed_at_s = self._clock.steady_s()
            await self._means.publish(record)  # I5: it is durable
            self._metrics.acked(self._clock.steady_s() - handed_at_s)
        finally:
            body.close()

    async def _small(self, delivery: Delivery, body: Body) -> Inbound:
        source, content = delivery.source, body.whole()
        delivery_id = await source.verify(  # I2: it is who it says
            delivery.headers, content, now_s=delivery.came_at_s, steady_s=delivery.steady_s
        )
        source.take_token(delivery.steady_s)  # after I2, or a forger could use up the rate
        event = named(content, source.speaker, kind=delivery.kind, delivery_id=delivery_id)  # I3
        return inbound(event, content, of=delivery.circumstances(delivery_id))

    async def _large(self, delivery: Delivery, body: Body) -> Inbound:
        large = self._means.large
        async with large.turn():
            delivery_id = await large.verified(delivery, body)  # I2
            delivery.source.take_token(delivery.steady_s)
            found = await large.found(delivery, body, delivery_id=delivery_id)  # I3
            value = await large.kept(body, found.reference)  # I4: the body is durable
        return inbound_blob(found.named, value, of=delivery.circumstances(delivery_id))

    def _settled(self, source: str, error: TurnedAway) -> tuple[Message, Message]:
        self._metrics.settled(source, error.reason)
        log.warning("delivery turned away", extra={"source": source, "reason": str(error.reason)})
        return turned_away(error)


def _headers(scope: Scope) -> Headers:
    """The request's headers by name, repeated ones joined, and the secret end of its path."""
    given: list[tuple[bytes, bytes]] = scope["headers"]
    headers = {PATH: scope["path_params"].get("secret", "").encode()}
    for name, value in given:
        headers[name] = headers[name] + b", " + value if name in headers else value
    return headers


def _check_head(method: str, headers: Headers, limit_bytes: int) -> None:
    """Return when the body is worth reading. Raises TurnedAway."""
    if method != "POST":
        raise TurnedAway(Reason.WRONG_METHOD)
    if headers.get(b"content-encoding", b"identity").strip().lower() != b"identity":
        raise TurnedAway(Reason.COMPRESSED)
    declared = headers.get(b"content-length", b"")
    if declared.isdigit() and int(declared[:20]) > limit_bytes:
        raise TurnedAway(Reason.BODY_TOO_LARGE)
