"""A changelog of DEDUPE as weeks of mail leave it: rows in transactions, nothing else.

Owns: the rows, and counting them in the stores that were built from them.
May not: write a row that DEDUPE itself would not write.
"""

import time
from hashlib import blake2b
from pathlib import Path
from typing import Final

from confluent_kafka import Producer

from processors.core.dedupe import IDENTITY_BYTES, SEEN, SeenRow
from processors.core.tables import prefix_end
from processors.runtime.store import Store, StoreCache
from schemas.cluster import transactional_config
from schemas.topics import Topic
from tests.bench.events import DEADLINE_S, SOURCE
from tests.bench.ground import Ground

# As many as a busy stage commits at once.
TRANSACTION_ROWS: Final = 20_000
STAGE: Final = "dedupe"
_CACHE_BYTES: Final = 64 * 1024 * 1024


def event_key(number: int) -> str:
    """An event key as long as AgentMail's are, and as hard to compress."""
    name = blake2b(b"%d" % number, digest_size=14).hexdigest()
    return f"{SOURCE}/evt_{name}"


def fill(ground: Ground, rows: int) -> None:
    """Write so many rows of `seen`, spread over the partitions."""
    options = transactional_config(ground.settings, f"{ground.settings.topic_prefix}fill")
    producer = Producer(options)
    producer.init_transactions(DEADLINE_S)
    name, began_ms = ground.name(Topic.DEDUPE_STATE), time.time_ns() // 1_000_000
    for start in range(0, rows, TRANSACTION_ROWS):
        producer.begin_transaction()
        for number in range(start, min(start + TRANSACTION_ROWS, rows)):
            offset, partition = divmod(number, ground.settings.partitions)
            producer.produce(
                name,
                key=SEEN.key(event_key(number)),
                value=SEEN.encode(_row(number, offset=offset, at_ms=began_ms)),
                partition=partition,
            )
        producer.commit_transaction(DEADLINE_S)


def _row(number: int, *, offset: int, at_ms: int) -> SeenRow:
    return SeenRow(
        latest=offset,
        written_ms=at_ms,
        first_offset=offset,
        first_at_ms=at_ms,
        identity=blake2b(b"message %d" % number, digest_size=IDENTITY_BYTES).digest(),
    )


def stores(ground: Ground) -> list[Path]:
    """The folders of the worker's stores. It must have ended before one is opened."""
    settings = ground.settings
    state = Path(settings.data_dir) / "state" / f"{settings.topic_prefix}{STAGE}"
    return sorted((state / settings.worker_name).iterdir())


def keys_in(folder: Path) -> tuple[int, int]:
    """How many rows of `seen` a store has, and the bytes of their event keys."""
    store, prefix = Store(folder, StoreCache(_CACHE_BYTES)), SEEN.key()
    framing = len(SEEN.key(""))
    count = size = 0
    try:
        for key, _ in store.scan(prefix, prefix_end(prefix)):
            count += 1
            size += len(key) - framing
    finally:
        store.close()
    return count, size
