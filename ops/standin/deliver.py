"""Deliver signed events to webhooks: once, or again and again as Svix does.

Owns: the event's delivery id and bytes, the attempts, and the record of them.
May not: hold up an answer of the API; wait on the machine's clock where the provider's was moved.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from datetime import timedelta
from enum import StrEnum
from hashlib import sha256
from typing import Final, Protocol

from msgspec import Struct, structs

from ops.standin.clock import Clock
from ops.standin.entries import Webhook
from ops.standin.signing import signed_headers
from ops.standin.waits import Signals

MAX_PENDING: Final = 10_000
KEPT: Final = 100_000
# Told events, kept so that they can be told again in their first bytes.
KEPT_EVENT_BYTES: Final = 64 * 1024 * 1024
# Enough to fill two cores, few enough that a slow endpoint does not use up the sockets.
AT_ONCE: Final = 32
SUCCESS: Final = 2  # the hundreds of a status


class Policy(StrEnum):
    """How often an event is delivered to an endpoint that does not answer 2xx."""

    NONE = "none"
    ONCE = "once"
    LIKE_SVIX = "like_svix"


# The wait before each attempt.
WAITS: Final[Mapping[Policy, tuple[timedelta, ...]]] = {
    Policy.NONE: (),
    Policy.ONCE: (timedelta(),),
    Policy.LIKE_SVIX: tuple(
        timedelta(seconds=seconds) for seconds in (0, 5, 300, 1800, 7200, 18000, 36000, 36000)
    ),
}


def delivery_id_of(event_id: str) -> str:
    """The svix-id: one for an event, at whatever endpoint and attempt."""
    return f"msg_{sha256(event_id.encode()).hexdigest()[:27]}"


class Event(Struct, frozen=True, kw_only=True):
    """One event: the same id, delivery id and bytes at every endpoint and every attempt."""

    event_id: str
    event_type: str
    inbox_id: str | None
    body: bytes

    @property
    def delivery_id(self) -> str:
        """The svix-id of this event."""
        return delivery_id_of(self.event_id)


class Delivery(Struct, frozen=True, kw_only=True):
    """What became of one event at one webhook. Statuses are in the order of the attempts."""

    event_id: str
    event_type: str
    delivery_id: str
    webhook_id: str
    url: str
    statuses: tuple[int | str, ...] = ()
    is_settled: bool = False


class Post(Protocol):
    """Posts a body and gives the status. Raises OSError when there was no answer."""

    async def __call__(self, url: str, *, body: bytes, headers: Mapping[str, str]) -> int:
        """The status of the endpoint's answer."""


class Deliverer:
    """Runs the attempts beside the API, a bounded number at once."""

    def __init__(self, *, clock: Clock, signals: Signals, post: Post) -> None:
        self._clock = clock
        self._signals = signals
        self._post = post
        self._room = asyncio.Semaphore(AT_ONCE)
        self._tasks: set[asyncio.Task[None]] = set()
        self._events: OrderedDict[str, Event] = OrderedDict()
        self._event_bytes = 0
        self._records: OrderedDict[int, Delivery] = OrderedDict()
        self._started = 0
        self.refused = 0
        self.settled = 0
        self.dropped = 0

    def deliver(self, event: Event, webhooks: Iterable[Webhook], *, policy: Policy) -> None:
        """Start the deliveries and return. Past the limit of pending ones they are only counted.

        An event that was told before is told again in its first bytes, as the provider does.
        """
        first_told = self._first_told(event)
        for webhook in webhooks:
            if len(self._tasks) >= MAX_PENDING:
                self.dropped += 1
                continue
            task = asyncio.create_task(self._run(first_told, webhook, waits=WAITS[policy]))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def records(self) -> tuple[Delivery, ...]:
        """The latest deliveries in the order in which they were started."""
        return tuple(self._records.values())

    async def stop(self) -> None:
        """Give up what is pending and forget everything."""
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._events.clear()
        self._event_bytes = 0
        self._records.clear()
        self.refused = self.settled = self.dropped = 0

    def _first_told(self, event: Event) -> Event:
        known = self._events.get(event.event_id)
        if known is not None:
            return known
        self._events[event.event_id] = event
        self._event_bytes += len(event.body)
        while self._event_bytes > KEPT_EVENT_BYTES:
            _, oldest = self._events.popitem(last=False)
            self._event_bytes -= len(oldest.body)
        return event

    async def _run(self, event: Event, webhook: Webhook, *, waits: tuple[timedelta, ...]) -> None:
        self._started += 1
        number = self._started
        record = Delivery(
            event_id=event.event_id,
            event_type=event.event_type,
            delivery_id=event.delivery_id,
            webhook_id=webhook.webhook_id,
            url=webhook.url,
        )
        last_attempt_at = self._clock.now()
        for wait in waits:
            self._keep(number, record)
            await self._clock.until(last_attempt_at + wait)
            status = await self._attempt(event, webhook)
            last_attempt_at = self._clock.now()
            record = structs.replace(record, statuses=(*record.statuses, status))
            if isinstance(status, int) and status // 100 == SUCCESS:
                break
            self.refused += 1
        self.settled += 1
        self._keep(number, structs.replace(record, is_settled=True))

    async def _attempt(self, event: Event, webhook: Webhook) -> int | str:
        async with self._room:
            headers = signed_headers(
                webhook.secret,
                event.delivery_id,
                timestamp=int(self._clock.now().timestamp()),
                body=event.body,
            )
            try:
                return await self._post(
                    webhook.url,
                    body=event.body,
                    headers={"content-type": "application/json", **headers},
                )
            except OSError as error:
                return type(error.__cause__ or error).__name__

    def _keep(self, number: int, record: Delivery) -> None:
        self._records[number] = record
        if len(self._records) > KEPT:
            self._records.popitem(last=False)
        self._signals.notify()
