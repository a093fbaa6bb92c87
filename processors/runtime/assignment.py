"""Which partitions are ours, and what each needs before it is live.

A partition is new (given by the group), restoring (its changelog is read), or live. Only live ones
are read: the library is told of a partition when it is known where that really stands.

Owns: opening and closing stores, and the rebalance callbacks. They run inside a poll, when no
transaction is open, so a revoked partition is settled by the time they are called.
May not: decide or produce.
"""

import logging
from dataclasses import dataclass
from typing import Final

from confluent_kafka import (
    Consumer,
    KafkaException,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient

from processors.runtime.clock import wall_ms
from processors.runtime.ground import ASK_DEADLINE_S, Ground, changelog_end, store_of
from processors.runtime.offsets import NO_OFFSET, Asked, Start, start_of
from processors.runtime.partition import Partition
from processors.runtime.patience import Patience
from processors.runtime.restore import Restore
from processors.runtime.rows import POSITION_KEY, PositionRow, position_of
from processors.runtime.store import Store, StoreCache, StoreError
from schemas.errors import ClusterMismatch
from schemas.settings import Settings

LOG = logging.getLogger("processors.assignment")

RESTORE_SLICE_S: Final = 0.05
# Each has a consumer with a buffer of its own.
RESTORES_AT_ONCE: Final = 3


@dataclass(slots=True)
class Opening:
    """A partition on its way to being live."""

    epoch: int
    committed: int
    metadata: str
    store: Store
    restore: Restore


class Assignment:
    """The partitions that the group gave to this worker."""

    def __init__(self, settings: Settings, ground: Ground, client: AdminClient) -> None:
        self._settings = settings
        self._ground = ground
        self._admin = client
        self._cache = StoreCache(settings.store_cache_bytes)
        self._epoch = 0
        self._new: dict[int, int] = {}
        self._opening: dict[int, Opening] = {}
        self._restored = 0
        self._patience = Patience(ground.stage, most_s=settings.recovery_silence_ms / 1000)
        self._was_settled = True
        self._unclosed: StoreError | None = None
        self.live: dict[int, Partition] = {}

    # -- the group's callbacks

    def subscribe(self, consumer: Consumer) -> None:
        """Ask the group for partitions of the input."""
        consumer.subscribe(
            [self._ground.input],
            on_assign=self.on_assign,
            on_revoke=self.on_revoke,
            on_lost=self.on_lost,
        )

    def on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """Take partitions over. Nothing of them is read before they are live.

        A partition that is read from a provisional place, paused and then sought, goes wrong now
        and then: a fetch was out already, and the seek is refused or overtaken.
        """
        consumer.incremental_assign([])
        for each in partitions:
            self._epoch += 1
            self._new[each.partition] = self._epoch
        self._was_settled = False

    def on_revoke(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """Give partitions back, their stores closed. Nothing of theirs is in hand."""
        consumer.incremental_unassign([each for each in partitions if each.partition in self.live])
        for each in partitions:
            self._drop(each.partition)
        LOG.info(
            "partitions revoked", extra={"partitions": sorted(p.partition for p in partitions)}
        )

    def on_lost(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """Partitions went to somebody else while this worker was silent."""
        LOG.warning(
            "partitions lost", extra={"partitions": sorted(p.partition for p in partitions)}
        )
        self.on_revoke(consumer, partitions)

    def _drop(self, number: int) -> None:
        self._patience.is_answered(number)
        self._new.pop(number, None)
        if (opening := self._opening.pop(number, None)) is not None:
            opening.restore.close()
            self._close_store(opening.store)
        if (partition := self.live.pop(number, None)) is not None:
            self._close_store(partition.store)

    def _close_store(self, store: Store) -> None:
        """Nothing is lost with a store, so others are closed too, and what came first is told."""
        try:
            store.close()
        except StoreError as error:
            LOG.error("store not closed", extra={"reason": str(error)})  # noqa: TRY400  # the sentence says it; a trace would not
            self._unclosed = error

    def close(self) -> None:
        """Close every store that is still open."""
        for number in [*self.live, *self._opening]:
            self._drop(number)

    # -- on the way to live

    def restored(self) -> int:
        """Changelog records that were read into stores since the start. Any thread may ask."""
        under_way = (each.restore.records for each in list(self._opening.values()))
        return self._restored + sum(under_way)

    def restore_left(self) -> int:
        """Changelog offsets that are still to be read. Any thread may ask."""
        return sum(each.restore.left for each in list(self._opening.values()))

    @property
    def is_settled(self) -> bool:
        """Whether every partition of ours is live."""
        return not self._new and not self._opening

    def advance(self, consumer: Consumer) -> None:
        """Do a slice of what new partitions need.

        Raises where a person must act, and Transient where nothing has moved for too long or a
        store could not be given back.
        """
        if self._unclosed is not None:
            raise self._unclosed
        # Each question may take seconds while the broker is away, and polls must go on: one fails,
        # and the others are asked with the next round.
        for number in list(self._new):
            if not self._open(consumer, number):
                break
        for number, opening in list(self._opening.items())[:RESTORES_AT_ONCE]:
            if not opening.restore.step(RESTORE_SLICE_S):
                continue
            try:
                partition = _go_live(consumer, self._ground, number=number, opening=opening)
            except KafkaException as error:
                self._patience.waits(number, error)
                break
            opening.restore.close()
            self._restored += opening.restore.records
            del self._opening[number]
            self._patience.is_answered(number)
            self.live[number] = partition
        if self.is_settled and not self._was_settled:
            self._was_settled = True
            LOG.info(
                "stage live",
                extra={"stage": self._ground.stage, "partitions": sorted(self.live)},
            )

    def _open(self, consumer: Consumer, number: int) -> bool:
        """Begin a partition's restore; whether the broker could say what that needs."""
        try:
            # Committed offsets first, and stable: a transaction that is still open may move them.
            committed = _committed(consumer, TopicPartition(self._ground.input, number))
            end = changelog_end(self._admin, self._ground, number)
        except KafkaException as error:
            self._patience.waits(number, error)
            return False
        self._patience.is_answered(number)
        epoch = self._new.pop(number)
        store, meta = store_of(self._ground, number, end=end, cache=self._cache)
        place = TopicPartition(self._ground.changelog, number, end)
        self._opening[number] = Opening(
            epoch=epoch,
            committed=committed.offset,
            metadata=committed.metadata or "",
            store=store,
            restore=Restore(self._settings, store, place=place, meta=meta),
        )
        return True


def _committed(consumer: Consumer, place: TopicPartition) -> TopicPartition:
    """The group's offset there, with its metadata. Raises KafkaException."""
    (found,) = consumer.committed([place], timeout=ASK_DEADLINE_S)
    if found.error is not None:
        raise KafkaException(found.error)
    return found


def _go_live(consumer: Consumer, ground: Ground, *, number: int, opening: Opening) -> Partition:
    """The partition, restored, its consumer at the record where it goes on."""
    place = TopicPartition(ground.input, number)
    start, end = consumer.get_watermark_offsets(place, timeout=ASK_DEADLINE_S)
    position = position_of(opening.store.get(POSITION_KEY)) or PositionRow(topic_id=ground.input_id)
    if position.topic_id != ground.input_id:
        raise ClusterMismatch([_recreated(ground)])
    asked = Asked(
        stage=ground.stage,
        partition=number,
        committed=NO_OFFSET if opening.committed < 0 else opening.committed,
        metadata=opening.metadata,
        start=start,
        end=end,
        now_ms=wall_ms(),
    )
    begin = start_of(asked, position)
    _tell(asked, begin, position)
    consumer.incremental_assign([TopicPartition(ground.input, number, begin.next_offset)])
    return Partition(
        number=number,
        epoch=opening.epoch,
        store=opening.store,
        position=position,
        next_offset=begin.next_offset,
        replay=begin.replay,
        next_changelog=opening.restore.next_changelog,
    )


def _recreated(ground: Ground) -> str:
    return (
        f"{ground.input} was recreated: the state of {ground.stage} was built on another topic of "
        "that name; move to a new ONEREPLY_TOPIC_PREFIX, or delete "
        f"{ground.changelog} and its stores to begin anew"
    )


def _tell(asked: Asked, begin: Start, position: PositionRow) -> None:
    """Say where a partition goes on that does not go on where it stood."""
    place = {"partition": asked.partition, "next_offset": begin.next_offset}
    if begin.replay is not None:
        LOG.info("replay begins", extra=place | {"replay": begin.replay})
    elif position.offset >= 0 and asked.committed != begin.next_offset:
        LOG.warning("committed offset not usable", extra=place | {"committed": asked.committed})
