"""Faust's Kafka driver, set right where its settings do not reach.

Owns: the consumer's options, and which records a commit may pass over.
May not: change what an agent sees.
"""

import logging
from typing import Any, Final

from aiokafka import AIOKafkaConsumer
from faust.transport.drivers.aiokafka import (
    AIOKafkaConsumerThread,
    Consumer,
    Transport,
    credentials_to_aiokafka_auth,
    server_list,
)
from faust.types import TP

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
    """Counts acknowledged records, and commits up to the first that is not."""

    logger = _FRAMEWORK

    def _new_consumer_thread(self) -> WriterThread:
        return WriterThread(self, loop=self.loop, beacon=self.beacon)

    async def _add_gap(self, tp: TP, offset_from: int, offset_to: int) -> None:
        # Offsets that hold no record of ours (commit markers, aborted records) are passed over.
        # Faust counts the record behind them in, which has two ends: a commit goes past that
        # record while its writer still works, and once it is acknowledged it is there twice, at
        # which the count stops, so that commits fall behind and a restart asks for texts again.
        await super()._add_gap(tp, offset_from, offset_to - 1)


class WriterTransport(Transport):
    """The driver with the consumer above."""

    Consumer = WriterConsumer
