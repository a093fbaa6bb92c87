"""Dedupe as a Faust agent: a table of keys, in RocksDB, with its changelog."""

import argparse
import asyncio
import logging
import sys
from typing import Any

import faust
from yarl import URL

from tests.bench.peers.options import finish, told

PATIENCE_S = 600.0


class Dedupe:
    """The app, its table and its counts."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.events = self.passed = 0
        self.is_done = asyncio.Event()
        self.app = faust.App(
            options.output,
            broker=[URL(f"kafka://{server}") for server in options.servers.split(",")],
            store="rocksdb://",
            datadir=options.state,
            web_enabled=False,
            topic_partitions=4,
            topic_replication_factor=1,
            topic_disable_leader=True,
            key_serializer="raw",
            value_serializer="raw",
            consumer_auto_offset_reset="earliest",
            # As large as helped: reading, buffering and batching are not what is compared.
            stream_buffer_maxsize=16_384,
            broker_max_poll_records=2_000,
            broker_check_crcs=False,
            producer_linger=0.02,
            producer_max_batch_size=1 << 20,
        )
        raw: dict[str, Any] = {"key_type": bytes, "value_type": bytes}
        self.seen = self.app.Table("seen", partitions=4, **raw, options={"driver": "rocksdict"})
        self.output = self.app.topic(options.output, **raw)
        self.app.agent(self.app.topic(options.input, **raw))(self.dedupe)

    async def dedupe(self, stream: Any) -> None:
        """Pass the first event of each key on."""
        async for event in stream.events():
            if self.seen.get(event.key) is None:
                self.seen[event.key] = b"%d" % event.message.offset
                await self.output.send(key=event.key, value=event.value)
                self.passed += 1
            self.events += 1
            if self.events == self.options.events:
                self.is_done.set()


async def main() -> int:
    """Read all events."""
    logging.basicConfig(level=logging.WARNING)
    dedupe = Dedupe(told())
    await dedupe.app.start()
    try:
        async with asyncio.timeout(PATIENCE_S):
            await dedupe.is_done.wait()
    finally:
        await dedupe.app.stop()
    return finish(dedupe.options, events=dedupe.events, passed=dedupe.passed)


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
