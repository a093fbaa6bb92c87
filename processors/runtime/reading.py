"""What a poll brought, sorted by partition and stripped of what is not ours to decide.

Owns: which records count (of a live partition, not read past already), and what a poll's errors
mean.
May not: poll, decide, or keep anything.
"""

import logging
from typing import Final

from confluent_kafka import KafkaError, Message

from processors.core.turn import Record
from processors.runtime.assignment import Assignment
from processors.runtime.batch import Given
from processors.runtime.clock import BrokerClock
from processors.runtime.effects import Arrived
from processors.runtime.failures import FORBIDDEN, Fenced
from processors.runtime.offsets import OffsetGone
from processors.runtime.partition import Partition
from processors.runtime.stage import Stage
from schemas.errors import Transient
from schemas.headers import REPLAY, header

LOG = logging.getLogger("processors.reading")

# What a batch may read from elsewhere: some seconds from a slow store, far from the longest time
# between two polls. One record may always.
MOST_WEIGHT_BYTES: Final = 128 * 1024 * 1024
# What no further poll can mend. The library says _FATAL of a worker whose name was taken, but its
# `fatal()` is false on errors that a poll returns (confluent-kafka-python, issue 869).
HOPELESS: Final = FORBIDDEN | {KafkaError._FATAL}  # noqa: SLF001  # the library's public constant has this name


class Reading:
    """The way from a poll's messages and the results of effects to what a batch decides."""

    def __init__(
        self, stage: Stage, assignment: Assignment, clock: BrokerClock, *, topic: str
    ) -> None:
        self._stage = stage
        self._assignment = assignment
        self._clock = clock
        self._topic = topic
        self._cut: dict[int, Partition] = {}

    def given(self, messages: list[Message], arrived: list[Arrived]) -> list[Given]:
        """What came for partitions that are ours, live, and not read past already."""
        appended_ms = [message.timestamp()[1] for message in messages]
        self._clock.observe_record(max(appended_ms, default=0))
        now_ms, live = self._clock.now_ms(), self._assignment.live
        records: dict[int, list[Record]] = {}
        weight = 0
        for message, at_ms in zip(messages, appended_ms, strict=True):
            if (error := message.error()) is not None:
                self._poll_error(message, error)
                continue
            number, offset = message.partition() or 0, message.offset() or 0
            partition = live.get(number)
            if partition is not None and offset >= partition.next_offset:
                # A broker whose clock leapt ahead must not carry rows past their age.
                record = self._record(message, partition, min(at_ms, now_ms))
                weight += self._stage.weight(record)
                if weight > MOST_WEIGHT_BYTES and records:
                    self._cut[number] = partition
                else:
                    records.setdefault(number, []).append(record)
        results: dict[int, list[Arrived]] = {}
        for each in arrived:
            results.setdefault(each.partition, []).append(each)
        return [
            Given(
                partition=partition,
                records=records.get(number, ()),
                arrived=results.get(number, ()),
            )
            for number, partition in live.items()
            if number in records or number in results or partition.next_due_ms <= now_ms
        ]

    def take_cut(self) -> list[Partition]:
        """The partitions of which a batch left something out; to be read again from their place."""
        cut, self._cut = list(self._cut.values()), {}
        return cut

    def _record(self, message: Message, partition: Partition, at_ms: int) -> Record:
        offset = message.offset() or 0
        headers: list[tuple[str, bytes | None]] = message.headers() or []  # type: ignore[assignment]  # the library's own type allows shapes that consumers never see
        return Record(
            self._stage.input,
            partition.number,
            offset,
            message.key(),
            message.value(),
            headers,
            at_ms,
            header(headers, REPLAY) or partition.mark_of(offset),
        )

    def _poll_error(self, message: Message, error: KafkaError) -> None:
        if error.code() == KafkaError._AUTO_OFFSET_RESET:  # noqa: SLF001  # the library's public constant has this name
            raise OffsetGone(
                f"{self._stage.name} partition {message.partition()}: the next offset is no longer "
                f"in the log ({error.str()}); restart the stage, which says what is missing"
            )
        if error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            raise Transient(f"{self._topic} is gone: run `onereply topics create --execute`")
        if error.code() in HOPELESS:
            raise Fenced(f"{self._stage.name} may not read any further: {error.str()}")
        LOG.warning("poll error", extra={"reason": error.name()})
