"""One delivery: bounded, verified, named, stored, and only then answered.

Owns: the order of these steps, and one outcome counted for each delivery.
May not: parse anything before it is verified, or answer before the broker has.
"""

import logging
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta

import msgspec
from starlette.types import Message, Receive, Scope, Send

from ingest.answers import Reason, TurnedAway, turned_away
from ingest.body import ClientGone, read_body
from ingest.forms import kind_of
from ingest.keys import named
from ingest.metrics import UNKNOWN, Metrics
from ingest.records import Circumstances, Inbound, inbound
from ingest.signatures import PATH, Headers
from ingest.sources import OpenSource, OpenSources

Publish = Callable[[Inbound], Awaitable[None]]

log = logging.getLogger(__name__)


class Clock(msgspec.Struct, frozen=True):
    """The two clocks: what time it is, and how much time passes."""

    wall_s: Callable[[], float] = time.time
    steady_s: Callable[[], float] = time.monotonic


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How much of this process the deliveries may take."""

    body_bytes: int
    body_deadline: timedelta
    in_hand: int


class Door:
    """An ASGI application for the path of one source, named `source` by the route."""

    def __init__(
        self,
        sources: OpenSources,
        publish: Publish,
        *,
        limits: Limits,
        clock: Clock,
        metrics: Metrics,
    ) -> None:
        self._sources = sources
        self._publish = publish
        self._limits = limits
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
        await send(start)  # I5: from here the sender forgets the event
        await send(body)

    async def _answer(self, scope: Scope, receive: Receive) -> tuple[Message, Message]:
        name: str = scope["path_params"]["source"]
        source = self._sources.get(name)
        if source is None or ("secret" in scope["path_params"]) != bool(
            source.settings.path_secrets
        ):
            return self._settled(UNKNOWN, TurnedAway(Reason.UNKNOWN_SOURCE))
        if self._in_hand >= self._limits.in_hand:
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
        _check_head(scope["method"], headers, self._limits.body_bytes)
        kind = kind_of(headers, source.speaker.rules.takes)
        body = await read_body(  # I1: every byte, and no more than the limit
            receive,
            limit_bytes=self._limits.body_bytes,
            deadline=self._limits.body_deadline,
        )
        now_s, steady_s = self._clock.wall_s(), self._clock.steady_s()
        delivery_id = await source.verify(  # I2: it is who it says
            headers, body, now_s=now_s, steady_s=steady_s
        )
        source.take_token(steady_s)  # after I2, or a forger could use up the sender's rate
        event = named(body, source.speaker, kind=kind, delivery_id=delivery_id)  # I3
        record = inbound(
            event,
            body,
            of=Circumstances(
                source=source.name,
                provider=source.settings.provider,
                proves=source.scheme.proves,
                received_at_ms=int(now_s * 1000),
                delivery_id=delivery_id,
                content_type=kind.content_type,
                traceparent=headers.get(b"traceparent", b""),
            ),
        )
        await self._publish(record)  # I4: it is durable
        self._metrics.acked(self._clock.steady_s() - steady_s)

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
