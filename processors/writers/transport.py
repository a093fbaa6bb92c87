"""Faust's Kafka driver, set right where its settings do not reach.

Owns: the consumer's options, and which records a commit may pass over.
May not: change what an agent sees.
"""

import logging
from collections.abc import Iterator
from typing import Any, Final

from aiokafka import AIOKafkaConsumer
from faust.transport.drivers.aiokafka import (
    AIOKafkaConsumerThread,
    Consumer,
    Transport,
    credentials_to_aiokafka_auth,
    server_list,
)
from faust.types import TP, ConsumerMessage, Message

# An idle fetch ends after this. A fetch under way holds up every other partition of its broker,
# so this bounds what a request waits for one; the driver's own 1.5 s would be seen.
FETCH_WAIT_MS: Final = 50

# What the framework says of itself is not ours, though the classes are: warnings only.
_FRAMEWORK: Final = logging.getLogger("faust.transport")


class WriterThread(AIOKafkaConsumerThread):
    """The thread that fetches. It sees committed records only.

    Faust would see them so only under exactly_once, which loses and doubles events.
    """

    logger = _FRAMEWORK

    def _create_worker_consumer(self, transport: Transport) -> AIOKafkaConsumer:
        conf: Any = self.app.conf
        return AIOKafkaConsumer(
            client_id=conf.broker_client_id,
            group_id=conf.id,
            group_instance_id=conf.consumer_group_instance_id,
            bootstrap_servers=server_list(transport.url, transport.default_port),
            enable_auto_commit=False,
            auto_offset_reset=conf.consumer_auto_offset_reset,
            isolation_level="read_committed",
            fetch_max_wait_ms=FETCH_WAIT_MS,
            max_partition_fetch_bytes=conf.consumer_max_fetch_size,
            max_poll_records=conf.broker_max_poll_records,
            max_poll_interval_ms=int(conf.broker_max_poll_interval * 1000),
            rebalance_timeout_ms=int(conf.broker_rebalance_timeout * 1000),
            session_timeout_ms=int(conf.broker_session_timeout * 1000),
            heartbeat_interval_ms=int(conf.broker_heartbeat_interval * 1000),
            request_timeout_ms=int(conf.broker_request_timeout * 1000),
            check_crcs=conf.broker_check_crcs,
            **credentials_to_aiokafka_auth(conf.broker_credentials, conf.ssl_context),
        )


class WriterConsumer(Consumer):
    """Commits up to the first record that is not acknowledged, and never past it.

    Faust's own count passes a record in hand where it stands first, or behind a commit marker;
    and where markers lie between records it falls behind, so that a restart asks for texts again.
    """

    logger = _FRAMEWORK

    def __init__(self, *args: Any, **options: Any) -> None:
        # Of each partition: the records handed out and not acknowledged, in their order, and the
        # offset behind the last one handed out.
        self._in_hand: dict[TP, dict[int, None]] = {}
        self._next: dict[TP, int] = {}
        super().__init__(*args, **options)

    def _new_consumer_thread(self) -> WriterThread:
        return WriterThread(self, loop=self.loop, beacon=self.beacon)

    async def on_partitions_assigned(self, assigned: set[TP], generation_id: int = 0) -> None:
        """What was in hand is read again, from what is committed; the queues are empty by now."""
        self._in_hand.clear()
        self._next.clear()
        await super().on_partitions_assigned(assigned, generation_id)

    def _to_message(self, tp: TP, record: Any) -> ConsumerMessage:
        self._in_hand.setdefault(tp, {})[record.offset] = None
        self._next[tp] = record.offset + 1
        return super()._to_message(tp, record)

    def ack(self, message: Message) -> bool:
        """The record is answered. Again is harmless."""
        message.acked = True
        self._unacked_messages.discard(message)
        self._in_hand.get(message.tp, {}).pop(message.offset, None)
        return True

    def _new_offset(self, tp: TP) -> int | None:
        return next(iter(self._in_hand.get(tp, ())), self._next.get(tp))

    def _filter_tps_with_pending_acks(self, topics: object = None) -> Iterator[TP]:
        del topics  # there is one
        return iter(list(self._next))

    async def _add_gap(self, tp: TP, offset_from: int, offset_to: int) -> None:
        """Offsets without a record need no remembering."""


class WriterTransport(Transport):
    """The driver with the consumer above."""

    Consumer = WriterConsumer
