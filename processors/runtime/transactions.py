"""One Kafka transaction a batch: outputs, changelog, and the offsets of all it touches.

Owns: the producer, the order of its calls, and what each of its errors means for the batch.
May not: keep a batch: after Aborted the caller goes back to what was committed.

An error of produce() leaves the transaction open: it is aborted, whatever the error says of itself.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

from confluent_kafka import KafkaError, KafkaException, Message, Producer, TopicPartition

from processors.core.turn import Output
from processors.runtime.clock import boot_s
from processors.runtime.failures import Aborted, end_after
from processors.runtime.steps import Step, Steps
from schemas.cluster import transactional_config
from schemas.headers import REPLAY
from schemas.settings import Settings
from schemas.topics import Topic

LOG = logging.getLogger("processors.transactions")

Rows = Mapping[bytes, bytes | None]

# An abort is asked for so long: the coordinator ends what it does not hear of.
ABORT_DEADLINE_S: Final = 10.0
# Between two tries the reports of records are taken in, for which an abort waits.
ABORT_SLICE_S: Final = 1.0
# A call that has no time left is made all the same, to learn what it has come to.
SHORTEST_CALL_S: Final = 0.1
INIT_DEADLINE_S: Final = 60.0
NOT_KNOWN: Final = "what came of a transaction is not known"
# What produce() says once the transaction has failed: that it has, and not of what.
NOT_ITS_OWN: Final = frozenset({KafkaError._STATE, KafkaError._FATAL})  # noqa: SLF001  # the library's public constants have these names


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What one transaction writes.

    `changelog` holds the rows changed by partition; `offsets` are next offsets, metadata included.
    """

    outputs: Sequence[Output]
    changelog: Mapping[int, Rows]
    offsets: Sequence[TopicPartition]
    group_metadata: Any


@dataclass(slots=True)
class Acks:
    """What the broker said of a batch's changelog records: where each partition stands now."""

    next_changelog: dict[int, int] = field(default_factory=dict)
    appended_ms: int = 0
    error: KafkaError | None = None

    def seen(self, error: KafkaError | None, message: Message) -> None:
        """One record's report."""
        if error is not None:
            self.error = error
            return
        partition, offset = message.partition(), message.offset()
        if partition is not None and offset is not None:
            self.next_changelog[partition] = max(self.next_changelog.get(partition, 0), offset + 1)
        self.appended_ms = max(self.appended_ms, message.timestamp()[1])


class Transactions:
    """The stage's transactional producer. One transaction at a time."""

    def __init__(self, settings: Settings, *, name: str, changelog: str, steps: Steps) -> None:
        self._producer = Producer(
            transactional_config(settings, f"{settings.topic_prefix}{name}-{settings.worker_name}")
        )
        self._names = {topic: settings.shape().name(topic) for topic in Topic}
        self._changelog = changelog
        self._steps = steps
        self._timeout_s = settings.transaction_timeout_ms / 1000

    def open(self) -> None:
        """Take the name, and end what a predecessor of this name left open.

        Raises Transient while the broker is away, Fenced when it refuses.
        """
        try:
            self._producer.init_transactions(INIT_DEADLINE_S)
        except KafkaException as error:
            raise end_after(error.args[0], "transactions cannot start") from error

    def commit(self, batch: Batch) -> Acks:
        """Return once all of the batch is committed; where its changelog stands then.

        Raises Aborted when none of it is, Fenced or ClusterMismatch when this process must stop,
        and Transient when it is not known: then only a new process, which takes the name anew,
        may go on. Takes no longer than `longest_s`.
        """
        acks, deadline_s = Acks(), boot_s() + self._timeout_s
        try:
            self._producer.begin_transaction()
            self._produced(batch, acks)
            self._steps.reached(Step.PRODUCED)
            _retried(
                lambda left_s: self._producer.send_offsets_to_transaction(
                    list(batch.offsets), batch.group_metadata, left_s
                ),
                deadline_s=deadline_s,
            )
            self._steps.reached(Step.OFFSETS_SENT)
            _retried(self._producer.commit_transaction, deadline_s=deadline_s)
        except KafkaException as error:
            self._abort(error, deadline_s=deadline_s)
        self._steps.reached(Step.COMMITTED)
        return acks

    def _produced(self, batch: Batch, acks: Acks) -> None:
        try:
            self._produce(batch, acks)
        except KafkaException as error:
            raise KafkaException(self._cause(error.args[0], batch)) from error

    def _cause(self, refused: KafkaError, batch: Batch) -> KafkaError:
        """Why produce() refused a record, as an error that asks for the abort which it needs."""
        if refused.code() in NOT_ITS_OWN:
            # The transaction had failed before, and any other call tells of what.
            try:
                self._producer.send_offsets_to_transaction(
                    list(batch.offsets), batch.group_metadata, SHORTEST_CALL_S
                )
            except KafkaException as error:
                told: KafkaError = error.args[0]
                return told
        return KafkaError(refused.code(), refused.str(), txn_requires_abort=True)

    def _produce(self, batch: Batch, acks: Acks) -> None:
        put = self._put
        for topic, key, value, headers, mark in batch.outputs:
            if not key:
                raise ValueError(f"a record for {topic} has no key")
            marked = headers if mark is None else (*headers, (REPLAY, mark.encode()))
            put(self._names[topic], value, key=key, headers=list(marked))
        for partition, rows in batch.changelog.items():
            last = len(rows) - 1
            for index, (key, value) in enumerate(rows.items()):
                # The log keeps their order: the last one's place and time stand for all.
                told = acks.seen if index == last else None
                put(self._changelog, value, key, partition, told)

    def _put(self, *args: Any, **options: Any) -> None:
        while True:
            try:
                self._producer.produce(*args, **options)
            except BufferError:
                # The local queue is full: what is in it must reach the broker first.
                self._producer.poll(0.05)
            else:
                return

    def _abort(self, error: KafkaException, *, deadline_s: float) -> NoReturn:
        kafka_error: KafkaError = error.args[0]
        if not kafka_error.txn_requires_abort():
            is_overdue = boot_s() >= deadline_s
            raise end_after(kafka_error, NOT_KNOWN, is_overdue=is_overdue) from error
        try:
            _retried(self._end, deadline_s=boot_s() + ABORT_DEADLINE_S)
        except KafkaException as second:
            LOG.warning("abort failed", extra={"reason": str(kafka_error)})
            is_overdue = boot_s() >= deadline_s
            raise end_after(second.args[0], NOT_KNOWN, is_overdue=is_overdue) from second
        raise Aborted(kafka_error) from error

    def _end(self, left_s: float) -> None:
        # An abort waits for the reports of what it takes back, and takes in none of them itself.
        self._producer.poll(0)
        self._producer.abort_transaction(min(left_s, ABORT_SLICE_S))


def longest_s(settings: Settings) -> float:
    """How long a commit may take when nothing hangs: its transaction's time, then the abort's."""
    return settings.transaction_timeout_ms / 1000 + ABORT_DEADLINE_S


def _retried(call: Callable[[float], None], *, deadline_s: float) -> None:
    """Make a call again while its error says that this can help and there is time for it.

    The call gets the seconds that are left. Raises its last KafkaException.
    """
    while True:
        left_s = max(deadline_s - boot_s(), SHORTEST_CALL_S)
        try:
            call(left_s)
        except KafkaException as error:
            kafka_error = error.args[0]
            if not kafka_error.retriable() or boot_s() >= deadline_s:
                raise
            LOG.warning("transaction retried", extra={"reason": kafka_error.name()})
        else:
            return


def offsets_of(
    topic: str, next_offsets: Mapping[int, int], replays: Mapping[int, str | None]
) -> list[TopicPartition]:
    """Next offsets as Kafka wants them. An open replay's id goes along as metadata."""
    return [
        TopicPartition(topic, partition, offset, metadata=replays.get(partition) or "")
        for partition, offset in next_offsets.items()
    ]
