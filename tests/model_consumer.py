"""The library's consumer, by its methods' names, over the log in memory.

Callbacks of the group are called from a poll, before it returns a record, as the real ones are.
"""

# ruff: noqa: SLF001  # the library's public constants have these names

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from confluent_kafka import KafkaError, KafkaException, TopicPartition

from tests.model_group import NO_GENERATION, Metadata
from tests.model_log import Entry, Log, Place


class Said(NamedTuple):
    """A record or an error, as a poll returns it."""

    place: Place
    entry: Entry
    failure: KafkaError | None = None

    def error(self) -> KafkaError | None:
        """What is wrong, or None for a record."""
        return self.failure

    def topic(self) -> str:
        """Its topic."""
        return self.place[0]

    def partition(self) -> int:
        """Its partition."""
        return self.place[1]

    def offset(self) -> int:
        """Where it lies."""
        return self.entry.offset

    def key(self) -> bytes:
        """Its key."""
        return self.entry.key

    def value(self) -> bytes | None:
        """Its value, or None for a deletion."""
        return self.entry.value

    def headers(self) -> list[tuple[str, bytes | None]] | None:
        """Its headers, or None where there are none."""
        return list(self.entry.headers) or None

    def timestamp(self) -> tuple[int, int]:
        """That it is the broker's own, and when it was appended."""
        return 2, self.entry.timestamp_ms


def nothing_at(offset: int) -> Entry:
    """What stands in the place of a record in an error."""
    return Entry(offset, b"", None, (), 0, 0)


class ModelConsumer:
    """A consumer: one of the group, or one that reads what it was assigned."""

    def __init__(self, log: Log, options: Mapping[str, Any]) -> None:
        self._log = log
        self._name = options.get("group.instance.id", "")
        self._tells_ends = options.get("enable.partition.eof", False)
        self._at: dict[Place, int] = {}
        self._paused: set[Place] = set()
        self._ends_told: dict[Place, int] = {}
        self._topic = ""
        self._callbacks: dict[str, Callable[[Any, list[TopicPartition]], None]] = {}
        self._member = 0
        self._generation = NO_GENERATION
        self._is_closed = False
        self.owned: set[int] = set()

    # -- the group

    def subscribe(
        self, topics: Sequence[str], **callbacks: Callable[[Any, list[TopicPartition]], None]
    ) -> None:
        """Be a member from the next poll on."""
        (self._topic,) = topics
        self._callbacks = callbacks

    def consumer_group_metadata(self) -> Metadata:
        """What it knows of its membership, which its own thread may have heard of before a poll."""
        group = self._log.group
        if self._member and group.hears_early:
            is_member = group.members.get(self._name) == self._member
            self._generation = group.generation if is_member else NO_GENERATION
        return Metadata(self._name, self._member, self._generation)

    def _sync(self) -> KafkaError | None:
        """Take part in what the group has come to. An error where another took the name."""
        group = self._log.group
        if self._member and group.members.get(self._name) is None:
            self._call("on_lost", sorted(self.owned))
            self.owned.clear()
            self._member = 0
        if not self._member:
            self._member = group.join(self._name)
        if group.members[self._name] != self._member:
            return KafkaError(KafkaError._FATAL, "another member took the name")
        if surplus := sorted(each for each in self.owned if group.wanted[each] != self._name):
            self._call("on_revoke", surplus)
            self.owned.difference_update(surplus)
            group.release(surplus)
        if gained := group.gained(self._name, self.owned):
            self.owned.update(gained)
            self._call("on_assign", gained)
        self._generation = group.generation
        return None

    def _call(self, callback: str, numbers: list[int]) -> None:
        if numbers:
            places = [TopicPartition(self._topic, number) for number in numbers]
            self._callbacks[callback](self, places)

    # -- what is read

    def assign(self, places: Sequence[TopicPartition]) -> None:
        """Read these, and no others."""
        self._at = {(each.topic, each.partition): each.offset for each in places}

    def incremental_assign(self, places: Sequence[TopicPartition]) -> None:
        """Read these as well."""
        self._at |= {(each.topic, each.partition): each.offset for each in places}

    def incremental_unassign(self, places: Sequence[TopicPartition]) -> None:
        """Read these no more."""
        for each in places:
            del self._at[each.topic, each.partition]
            self._paused.discard((each.topic, each.partition))

    def pause(self, places: Sequence[TopicPartition]) -> None:
        """Return nothing of these."""
        self._paused.update((each.topic, each.partition) for each in places)

    def resume(self, places: Sequence[TopicPartition]) -> None:
        """Return records of these again."""
        self._paused.difference_update((each.topic, each.partition) for each in places)

    def seek(self, place: TopicPartition) -> None:
        """Read on from there."""
        assert (place.topic, place.partition) in self._at
        self._at[place.topic, place.partition] = place.offset

    def poll(self, timeout: float) -> Said | None:
        """One record, or None."""
        return next(iter(self.consume(1, timeout)), None)

    def consume(self, most: int, _timeout: float) -> list[Said]:
        """Records, oldest first in each partition, in turns."""
        if self._topic and (error := self._sync()) is not None:
            return [Said((self._topic, 0), nothing_at(0), error)]
        said: list[Said] = []
        while len(said) < most:
            found = [each for place in sorted(self._at) if (each := self._next(place)) is not None]
            if not found:
                break
            said += found
        for each in said[most:]:
            self._at[each.place] = min(self._at[each.place], each.offset())
        return said[:most]

    def _next(self, place: Place) -> Said | None:
        if place in self._paused:
            return None
        at = self._at[place]
        entry = self._log.next_kept(place, at)
        if entry is not None:
            self._at[place] = entry.offset + 1
            return Said(place, entry)
        self._at[place] = end = max(at, self._log.partitions[place].stable_end)
        if not self._tells_ends or self._ends_told.get(place) == end:
            return None
        self._ends_told[place] = end
        return Said(place, nothing_at(end), KafkaError(KafkaError._PARTITION_EOF))

    def committed(
        self, places: Sequence[TopicPartition], timeout: float
    ) -> Sequence[TopicPartition]:
        """The group's offsets, stable ones only. Raises KafkaException."""
        assert timeout > 0
        found = []
        for each in places:
            if self._log.is_pending(each.partition):
                raise KafkaException(KafkaError(KafkaError.UNSTABLE_OFFSET_COMMIT))
            offset, metadata = self._log.group.offsets.get(each.partition, (-1001, ""))
            found.append(TopicPartition(each.topic, each.partition, offset, metadata=metadata))
            self._log.holder[each.partition] = self._name
        return found

    def get_watermark_offsets(self, place: TopicPartition, timeout: float) -> tuple[int, int]:
        """The first offset and one past the last that a read_committed reader may see."""
        assert timeout > 0
        return 0, self._log.partitions[place.topic, place.partition].stable_end

    def close(self) -> None:
        """Give everything back. A static member stays one until its session ends."""
        if not self._is_closed and not self._log.is_killed():
            self._call("on_revoke", sorted(self.owned))
        self._is_closed = True
