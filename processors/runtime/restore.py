"""Rebuilds one partition's store from its changelog, by position.

Owns: the reading consumer, and how it is known that everything committed was read. The end is
asked for read-uncommitted: a read-committed end is too early while a commit marker is on its way.
Gaps and markers at the end are crossed by position, told by the end-of-partition event.
May not: block for longer than a slice: the group's membership depends on polling meanwhile.
"""

import logging
from dataclasses import dataclass
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from processors.runtime.clock import boot_s, wall_ms
from processors.runtime.rows import FORMAT, StoreMeta
from processors.runtime.store import Store
from schemas.cluster import consumer_config
from schemas.errors import Transient
from schemas.settings import Settings

LOG = logging.getLogger("processors.restore")

SLICE_RECORDS: Final = 5_000
# Enough for some slices of small rows; several restores run at once.
BUFFER_KB: Final = 8 * 1024
PROGRESS_EVERY_S: Final = 5.0


@dataclass(slots=True)
class Progress:
    """How far one restore is."""

    next_offset: int
    end: int
    started_s: float
    moved_s: float
    told_s: float
    records: int = 0


class Restore:
    """One partition's restore. Call `step` until it returns True."""

    def __init__(
        self, settings: Settings, store: Store, *, place: TopicPartition, meta: StoreMeta
    ) -> None:
        self._store = store
        self._meta = meta
        self._place = place
        self._silence_s = settings.recovery_silence_ms / 1000
        now = boot_s()
        self._progress = Progress(
            next_offset=meta.next_changelog,
            end=place.offset,
            started_s=now,
            moved_s=now,
            told_s=now,
        )
        self._settings = settings
        self._consumer: Consumer | None = None

    def _open(self) -> Consumer:
        options: dict[str, Any] = consumer_config(
            self._settings, group=f"{self._place.topic}-restore"
        ) | {
            "enable.partition.eof": True,
            # Compaction may have removed the row at which the store stands: the next one will do.
            "auto.offset.reset": "earliest",
            "queued.max.messages.kbytes": BUFFER_KB,
        }
        consumer = Consumer(options)
        consumer.assign(
            [TopicPartition(self._place.topic, self._place.partition, self._progress.next_offset)]
        )
        return consumer

    @property
    def next_changelog(self) -> int:
        """Where the changelog is to be read on."""
        return self._progress.next_offset

    @property
    def records(self) -> int:
        """How many records were read."""
        return self._progress.records

    @property
    def left(self) -> int:
        """How many offsets are still to be read."""
        return max(0, self._progress.end - self._progress.next_offset)

    def step(self, wait_s: float) -> bool:
        """Read one slice into the store; True once everything committed is there.

        Raises Transient when nothing was heard for `recovery_silence`.
        """
        if self._progress.next_offset >= self._progress.end:
            return True
        if self._consumer is None:
            self._consumer = self._open()
            self._progress.started_s = self._progress.moved_s = boot_s()
        messages = self._consumer.consume(SLICE_RECORDS, wait_s)
        if messages:
            self._progress.moved_s = boot_s()
            self._take(messages)
        self._tell()
        if boot_s() - self._progress.moved_s > self._silence_s:
            raise Transient(
                f"restore of {self._place.topic}-{self._place.partition} heard nothing for "
                f"{self._silence_s:.0f} s at {self._progress.next_offset} of {self._progress.end}"
            )
        if self._progress.next_offset < self._progress.end:
            return False
        self._store.keep()
        return True

    def _take(self, messages: list[Message]) -> None:
        rows: list[tuple[bytes, bytes | None]] = []
        for message in messages:
            if (error := message.error()) is not None:
                self._passed_over(message, error)
            elif (key := message.key()) is not None:
                rows.append((_bytes(key), message.value()))
        last = messages[-1]
        if last.error() is None:
            self._progress.next_offset = (last.offset() or 0) + 1
        if rows:
            self._progress.records += len(rows)
            self._store.restore(rows, self._standing())

    def _passed_over(self, message: Message, error: KafkaError) -> None:
        """The end of the partition: what lies before it and was not given is no record of ours."""
        if error.code() != KafkaError._PARTITION_EOF:  # noqa: SLF001  # the library's public constant has this name
            raise Transient(f"{self._place.topic}-{self._place.partition}: {error.str()}")
        self._progress.next_offset = max(self._progress.next_offset, message.offset() or 0)

    def _standing(self) -> StoreMeta:
        return StoreMeta(
            format=FORMAT,
            cluster_id=self._meta.cluster_id,
            changelog_id=self._meta.changelog_id,
            next_changelog=self._progress.next_offset,
            live_at_ms=self._meta.live_at_ms or wall_ms(),
        )

    def _tell(self) -> None:
        now = boot_s()
        if now - self._progress.told_s < PROGRESS_EVERY_S:
            return
        self._progress.told_s = now
        rate = self._progress.records / max(now - self._progress.started_s, 0.001)
        left = self._progress.end - self._progress.next_offset
        LOG.info(
            "store restoring",
            extra={
                "partition": self._place.partition,
                "records": self._progress.records,
                "per_second": round(rate),
                "seconds_left": round(left / rate) if rate else None,
            },
        )

    def close(self) -> None:
        """Let go of the consumer."""
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None


def _bytes(key: str | bytes) -> bytes:
    return key.encode() if isinstance(key, str) else key
