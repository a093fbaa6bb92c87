"""What is new in a topic, for whoever waits for one record of it.

Owns: the reader, which starts at the topic's end and belongs to no group.
May not: wait without a deadline, or write.
"""

import time
from collections.abc import Callable
from types import TracebackType
from typing import Final, NamedTuple, Self

from confluent_kafka import Consumer, KafkaException, TopicPartition

from schemas.cluster import consumer_config
from schemas.errors import Transient
from schemas.headers import CE_ID, CE_TYPE, header
from schemas.settings import Settings
from schemas.topics import Topic

ASK_DEADLINE_S: Final = 15.0
LONGEST_POLL_S: Final = 0.2


class Seen(NamedTuple):
    """A committed record, by what its envelope says."""

    topic: Topic
    ce_id: str
    ce_type: str
    value: bytes | None


class Tail:
    """Reads topics from where they end when it is made. Records that were read stay known."""

    def __init__(self, settings: Settings, *topics: Topic) -> None:
        shape = settings.shape()
        self._topics = {shape.name(topic): topic for topic in topics}
        self._records: list[Seen] = []
        self._consumer = Consumer(consumer_config(settings, group="onereply-tail"))
        try:
            self._consumer.assign(
                [
                    TopicPartition(name, number, self._end(name, number))
                    for name, topic in self._topics.items()
                    for number in range(shape.partitions_of(topic))
                ]
            )
        except KafkaException as error:
            self._consumer.close()
            raise Transient(f"Kafka does not answer: {error.args[0].str()}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._consumer.close()

    def find(self, is_wanted: Callable[[Seen], bool], *, deadline_s: float) -> Seen | None:
        """The first record that is wanted, of those that came since this was made; or None."""
        end, looked_at = time.monotonic() + deadline_s, 0
        while True:
            for seen in self._records[looked_at:]:
                if is_wanted(seen):
                    return seen
            looked_at = len(self._records)
            left_s = max(0.0, end - time.monotonic())
            if not self._read(min(left_s, LONGEST_POLL_S)) and not left_s:
                return None

    def everything(self, *, silence_s: float) -> list[Seen]:
        """All that came since this was made, once nothing has come for so long."""
        while self._read(silence_s):
            pass
        return list(self._records)

    def _read(self, wait_s: float) -> bool:
        message = self._consumer.poll(wait_s)
        if message is None or message.error() is not None:
            return False
        headers = message.headers() or []
        self._records.append(
            Seen(
                topic=self._topics[message.topic() or ""],
                ce_id=header(headers, CE_ID) or "",  # type: ignore[arg-type]  # the library's own type allows shapes that consumers never see
                ce_type=header(headers, CE_TYPE) or "",  # type: ignore[arg-type]  # same
                value=message.value(),
            )
        )
        return True

    def _end(self, name: str, number: int) -> int:
        place = TopicPartition(name, number)
        return int(self._consumer.get_watermark_offsets(place, timeout=ASK_DEADLINE_S)[1])
