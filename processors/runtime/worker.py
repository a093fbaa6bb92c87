"""The loop of one stage in one process. Read it downwards: the order of the lines is the promise.

R1 poll, and take the group's metadata. R2 read the rows the batch needs. R3 decide. R4 one Kafka
transaction: outputs, changelog, offsets of every partition touched. R5 only then the store.
R6 start the effects. A death anywhere before R4c leaves nothing; after it, the changelog restores.

Owns: the loop, and what each failure means for it.
May not: decide.
"""

import logging
import time
from collections.abc import Callable, Iterable
from typing import Any, Final

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

from processors.runtime.assignment import Assignment
from processors.runtime.batch import Decided, Decider, is_waiting, rescan
from processors.runtime.clock import BrokerClock
from processors.runtime.effects import Effects
from processors.runtime.failures import Aborted, end_after
from processors.runtime.garbage import collect_seldom
from processors.runtime.ground import Ground, ground_of
from processors.runtime.metrics import Metrics
from processors.runtime.pace import Pace
from processors.runtime.partition import Partition
from processors.runtime.reading import Reading
from processors.runtime.rows import FORMAT, StoreMeta
from processors.runtime.setbacks import Setbacks
from processors.runtime.stage import Stage
from processors.runtime.steps import Step, Steps
from processors.runtime.transactions import Acks, Batch, Transactions, longest_s, offsets_of
from processors.runtime.watchdog import GRACE_S, Watchdog
from schemas.cluster import admin, consumer_config
from schemas.settings import Settings

LOG = logging.getLogger("processors.worker")

# How long a poll may wait when nothing is due: a stop is noticed after at most this.
IDLE_POLL_S: Final = 0.1
# While calls are under way their results are looked for this often.
BUSY_POLL_S: Final = 0.003
MOST_RESULTS: Final = 1_000


class Worker:
    """One stage, one process, any number of partitions."""

    def __init__(self, stage: Stage, settings: Settings, steps: Steps) -> None:
        self._stage = stage
        self._settings = settings
        self._steps = steps
        self._decider = Decider(stage)
        self._clock = BrokerClock()
        self._client = admin(settings)
        self._ground = ground_of(
            self._client,
            settings,
            stage=stage.name,
            topics={"input": stage.input, "changelog": stage.changelog},
        )
        self._assignment = Assignment(settings, self._ground, self._client)
        self._transactions = Transactions(
            settings, name=stage.name, changelog=self._ground.changelog, steps=steps
        )
        self._effects = Effects(stage, at_once=settings.effects_at_once)
        self._watchdog = Watchdog(deadline_s=longest_s(settings) + GRACE_S)
        self._pace = Pace()
        self._metrics = _watched(self._assignment, self._effects)
        self._setbacks = Setbacks()
        self._consumer = Consumer(_consumer_options(settings, stage.name))
        self._reading = Reading(stage, self._assignment, self._clock, topic=self._ground.input)

    def run(self, is_stopping: Callable[[], bool]) -> None:
        """Work until told to stop; then everything in hand is committed and closed.

        Raises Transient, Fenced, ClusterMismatch, OffsetGone or StoreError: nothing uncommitted
        is left behind, and a new process goes on where this one was. Raises SettingsError when its
        metrics cannot be shown.
        """
        collect_seldom()
        self._metrics.serve(self._settings)
        try:
            self._work(is_stopping)
        except KafkaException as error:
            raise end_after(error.args[0], "the broker does not answer") from error

    def _work(self, is_stopping: Callable[[], bool]) -> None:
        self._transactions.open()
        self._assignment.subscribe(self._consumer)
        try:
            while not is_stopping():
                if pause_s := self._setbacks.left_s():
                    time.sleep(min(pause_s, IDLE_POLL_S))
                    continue
                self._round()
        finally:
            self._effects.close()
            self._consumer.close()
            self._assignment.close()
            self._watchdog.close()

    def _round(self) -> None:
        # Taken before the poll: a member that loses its group after the poll would else be given
        # metadata without a generation, which Kafka takes for valid in a group that is empty.
        metadata = self._consumer.consumer_group_metadata()
        if self._assignment.live and not self._clock.is_known:
            # Its ack says what time it is. It has nothing else to say.
            partition = next(iter(self._assignment.live.values()))
            self._carry_out(self._decider.touched(partition), metadata)
        messages = self._poll()
        self._assignment.advance(self._consumer)
        self._steps.reached(Step.POLLED)
        arrived = self._effects.take(MOST_RESULTS)
        given = self._reading.given(messages, arrived)
        if not self._clock.is_known:
            # Nothing can be decided at a time that is not known; it is read again when it is.
            self._seek_back(each.partition for each in given if each.records)
            return
        if not given:
            return
        decided = self._decider.decide(given, now_ms=self._clock.now_ms())
        self._steps.reached(Step.DECIDED)
        if decided.changes:
            self._carry_out(decided, metadata)

    def _carry_out(self, decided: Decided, metadata: Any) -> None:
        self._pace.began()
        try:
            with self._watchdog.watching():
                acks = self._transactions.commit(_batch(self._ground.input, decided, metadata))
        except Aborted as error:
            self._setbacks.rolled_back(error)
            self._metrics.aborted()
            self._go_back(decided)
            return
        finally:
            took_s = self._pace.ended()
        self._setbacks.committed()
        self._metrics.committed(decided, seconds=took_s)
        self._apply(decided, acks)

    # -- R1

    def _poll(self) -> list[Message]:
        self._seek_back(self._reading.take_cut())
        if rest_s := self._pace.left_s():
            return self._consumer.consume(self._settings.batch_records, rest_s)
        first = self._consumer.poll(self._wait_s())
        if first is None:
            return []
        rest = self._consumer.consume(self._settings.batch_records - 1, 0)
        return [first, *rest]

    def _wait_s(self) -> float:
        if not self._assignment.is_settled:
            return 0.01
        if not self._effects.is_idle():
            return BUSY_POLL_S
        due_ms = is_waiting(self._assignment.live.values()) - self._clock.now_ms()
        return min(max(due_ms / 1000, 0.0), IDLE_POLL_S)

    # -- R4

    def _go_back(self, decided: Decided) -> None:
        rescan(decided.changes)
        self._effects.give_back(decided.arrived)
        self._seek_back(change.partition for change in decided.changes)

    def _seek_back(self, partitions: Iterable[Partition]) -> None:
        """To where those stand that are still ours."""
        for each in partitions:
            if self._assignment.live.get(each.number) is each:
                place = TopicPartition(self._ground.input, each.number, each.next_offset)
                self._consumer.seek(place)

    # -- R5, R6

    def _apply(self, decided: Decided, acks: Acks) -> None:
        self._clock.observe_ack(acks.appended_ms)
        now_ms = self._clock.now_ms()
        for change in decided.changes:
            partition = change.partition
            partition.next_changelog = acks.next_changelog[partition.number]
            meta = _meta(self._ground, partition, live_at_ms=now_ms)
            partition.store.write(change.writes.items(), meta)
            partition.position = change.position
            partition.next_offset = change.next_offset
            partition.replay = change.replay
        self._steps.reached(Step.STORED)
        _start(decided, self._effects)
        self._steps.reached(Step.STARTED)


def _watched(assignment: Assignment, effects: Effects) -> Metrics:
    """The metrics, with what the two tell of themselves."""
    metrics = Metrics()
    watch = metrics.watch
    watch("live_partitions", "Partitions that are read.", read=lambda: len(assignment.live))
    watch("restore_records", "Changelog records read since start.", read=assignment.restored)
    watch("restore_left", "Changelog offsets still to be read.", read=assignment.restore_left)
    watch("effects", "Calls outside, under way or waiting.", read=effects.under_way)
    return metrics


def _start(decided: Decided, effects: Effects) -> None:
    for change in decided.changes:
        for effect in change.effects:
            effects.start(
                effect,
                partition=change.partition.number,
                epoch=change.partition.epoch,
                claimed_at_s=decided.claimed_at_s,
            )


def _meta(ground: Ground, partition: Partition, *, live_at_ms: int) -> StoreMeta:
    return StoreMeta(
        format=FORMAT,
        cluster_id=ground.cluster_id,
        changelog_id=ground.changelog_id,
        next_changelog=partition.next_changelog,
        live_at_ms=live_at_ms,
    )


def _consumer_options(settings: Settings, name: str) -> dict[str, Any]:
    return consumer_config(settings, group=f"{settings.topic_prefix}{name}") | {
        # Kafka 4's consumer protocol refuses a static member that was killed until its session
        # ends; the classic one lets it in at once and moves nothing.
        "group.protocol": "classic",
        "group.instance.id": f"{settings.topic_prefix}{name}-{settings.worker_name}",
        "partition.assignment.strategy": "cooperative-sticky",
        "session.timeout.ms": settings.session_timeout_ms,
        "max.poll.interval.ms": settings.poll_interval_ms,
        "queued.max.messages.kbytes": max(settings.batch_bytes // 1024, 4096),
        "queued.min.messages": min(settings.batch_records * 2, 100_000),
    }


def _batch(topic: str, decided: Decided, metadata: Any) -> Batch:
    numbers = {change.partition.number: change for change in decided.changes}
    return Batch(
        outputs=decided.outputs,
        changelog={number: change.writes for number, change in numbers.items()},
        offsets=offsets_of(
            topic,
            {number: change.next_offset for number, change in numbers.items()},
            {number: change.replay for number, change in numbers.items()},
        ),
        group_metadata=metadata,
    )
