"""Dedupe as one loop: a batch, a multi-get, one transaction, one write to the store.

The least code that neither loses nor doubles an event while nothing goes wrong. It has no restore,
no timers, no rebalance, no dead letters; the distance to it is what those cost.
"""

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Message, Producer
from rocksdict import Options, Rdict, WriteBatch

from tests.bench.peers.options import finish, told

BATCH = 8_000
# Four times what the slowest machine so far needed between two batches.
PATIENCE_S = 60.0


def main() -> int:
    """Read all events; pass the first of each key on."""
    options = told()
    consumer, producer = clients(options)
    stores: dict[int, Rdict] = {}
    events = passed = 0
    give_up_at_s = time.monotonic() + PATIENCE_S
    while events < options.events and time.monotonic() < give_up_at_s:
        batch = consumer.consume(BATCH, 0.5)
        if not batch:
            continue
        give_up_at_s = time.monotonic() + PATIENCE_S
        producer.begin_transaction()
        news = [part_of(options, producer, stores, part) for part in parts(batch)]
        position = consumer.position(consumer.assignment())
        producer.send_offsets_to_transaction(position, consumer.consumer_group_metadata())
        producer.commit_transaction()
        for store, rows in news:
            passed += rows.len()
            store.write(rows)
        events += len(batch)
    consumer.close()
    return finish(options, events=events, passed=passed)


def clients(options: argparse.Namespace) -> tuple[Consumer, Producer]:
    """A consumer and a transactional producer."""
    common = {"bootstrap.servers": options.servers}
    consumer = Consumer(
        common
        | {
            "group.id": options.output,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "check.crcs": False,
        }
    )
    consumer.subscribe([options.input])
    producer = Producer(
        common
        | {
            "transactional.id": options.output,
            "partitioner": "murmur2_random",
            "compression.type": "lz4",
            "linger.ms": 2,
            "queue.buffering.max.messages": 1_000_000,
        }
    )
    producer.init_transactions()
    return consumer, producer


def parts(batch: list[Message]) -> list[list[Message]]:
    """The batch by partition."""
    found: dict[int, list[Message]] = {}
    for message in batch:
        found.setdefault(message.partition() or 0, []).append(message)
    return list(found.values())


def part_of(
    options: argparse.Namespace,
    producer: Producer,
    stores: dict[int, Rdict],
    part: list[Message],
) -> tuple[Rdict, WriteBatch]:
    """Produce what is new in one partition's records; the store, and the rows that it lacks."""
    number = part[0].partition() or 0
    if number not in stores:
        folder = Path(options.state) / str(number)
        folder.mkdir(parents=True)
        stores[number] = Rdict(str(folder), Options(raw_mode=True))
    store, rows, seen = stores[number], WriteBatch(raw_mode=True), set[bytes]()
    keys: list[Any] = [message.key() for message in part]
    known: Any = store.get(keys)
    for message, key, old in zip(part, keys, known, strict=True):
        if old is not None or key in seen:
            continue
        seen.add(key)
        row = b"%d" % (message.offset() or 0)
        rows.put(key, row)
        producer.produce(options.output, value=message.value(), key=key)
        producer.produce(f"{options.output}-state", value=row, key=key, partition=number)
    return store, rows


if __name__ == "__main__":
    sys.exit(main())
