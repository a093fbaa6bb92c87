"""Into the log: one record, and the broker's word that it is durable.

Owns: the producer, the one thread that polls it, and the way back from there into the event loop.
May not: publish without a key, retry, or guess. What was not acknowledged was not accepted.
"""

import asyncio
import logging
import threading
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from ingest.answers import Reason, TurnedAway
from ingest.records import Inbound

# How long the poll thread may sleep through a stop; acknowledgements wake it at once.
POLL_S: Final = 0.1
# For the broker's own answer to a readiness probe, which must be quicker than the prober.
REACH_S: Final = 1.0

Acked = asyncio.Future[KafkaError | None]

log = logging.getLogger(__name__)


class Publisher:
    """Publishes to one topic. Made, used and closed in one event loop.

    `failed` is set once the producer has given up for good: every later publish is turned away,
    and the process has to end.
    """

    def __init__(self, options: dict[str, Any], *, topic: str, deadline: timedelta) -> None:
        self.failed = asyncio.Event()
        self._topic = topic
        self._deadline_s = deadline.total_seconds()
        self._loop = asyncio.get_running_loop()
        self._acks: list[tuple[Acked, KafkaError | None]] = []
        self._closing = threading.Event()
        self._flush_s = 0.0
        # A record that is too late for its sender leaves the queue, so the queue cannot fill up
        # with records for which nobody waits.
        bounds = {"delivery.timeout.ms": int(self._deadline_s * 1000), "error_cb": self._troubled}
        self._producer = Producer(options | bounds)
        self._thread = threading.Thread(target=self._poll, name="publisher", daemon=True)
        self._thread.start()

    async def publish(self, record: Inbound) -> None:
        """Return once the broker holds the record on all in-sync replicas.

        Raises TurnedAway when it does not say so within the deadline, or when the queue is full.
        The record may be stored all the same, now or a moment later; that is harmless, because the
        sender comes again with the same event, which has the same key.
        """
        if not record.key:
            raise ValueError("a record without a key would be stored where its state is not")
        if self.failed.is_set():
            raise TurnedAway(Reason.BROKER_AWAY)
        acked: Acked = self._loop.create_future()
        self._produce(record, acked)
        try:
            async with asyncio.timeout(self._deadline_s):
                error = await acked
        except TimeoutError:
            raise TurnedAway(Reason.BROKER_AWAY) from None
        if error is not None:
            raise self._refusal(error)

    async def is_reachable(self) -> bool:
        """Whether a broker answers for the topic at this moment."""
        ask: Callable[[], object] = partial(self._producer.list_topics, self._topic, REACH_S)
        try:
            await asyncio.to_thread(ask)
        except KafkaException:
            return False
        return not self.failed.is_set()

    def waiting(self) -> int:
        """How many records wait for the broker's word."""
        return len(self._producer)

    async def close(self, grace: timedelta) -> int:
        """Flush, stop the thread, and say how many records were not acknowledged in time."""
        self._flush_s = grace.total_seconds()
        self._closing.set()
        await asyncio.to_thread(self._thread.join)
        return self.waiting()

    def _produce(self, record: Inbound, acked: Acked) -> None:
        try:
            self._producer.produce(
                self._topic,
                value=record.value,
                key=record.key,
                headers=list(record.headers),
                on_delivery=partial(self._note, acked),
            )
        except BufferError as error:
            raise TurnedAway(Reason.QUEUE_FULL) from error
        except KafkaException as error:
            raise self._refusal(error.args[0]) from error

    def _refusal(self, error: KafkaError) -> TurnedAway:
        if error.fatal():
            self._fail(error.name())
        if error.code() == KafkaError.MSG_SIZE_TOO_LARGE:
            return TurnedAway(Reason.BODY_TOO_LARGE)
        return TurnedAway(Reason.BROKER_AWAY)

    def _fail(self, name: str) -> None:
        if not self.failed.is_set():
            log.error("producer failed for good", extra={"error": name})
            self.failed.set()

    # -- below here runs in the poll thread, but for _settle

    def _poll(self) -> None:
        while not self._closing.is_set():
            self._producer.poll(POLL_S)
            self._hand_over()
        self._producer.flush(self._flush_s)
        self._hand_over()

    def _note(self, acked: Acked, error: KafkaError | None, _: Message) -> None:
        self._acks.append((acked, error))

    def _hand_over(self) -> None:
        """Wake the event loop once for all that came in this round: a wake-up costs a pipe write.

        Only the poll thread touches the list, since deliveries are reported from inside poll and
        flush, and both are called here alone.
        """
        if self._acks:
            acks, self._acks = self._acks, []
            self._loop.call_soon_threadsafe(self._settle, acks)

    @staticmethod
    def _settle(acks: list[tuple[Acked, KafkaError | None]]) -> None:
        for acked, error in acks:
            if not acked.done():  # its deadline has passed
                acked.set_result(error)

    def _troubled(self, error: KafkaError) -> None:
        # What is not fatal the client mends by itself, and has logged.
        if error.fatal():
            self._loop.call_soon_threadsafe(self._fail, error.name())
