"""The library's producer and admin client, by their methods' names, over the log in memory.

A producer meets the faults that a test has laid out for its worker, each once.
"""

# ruff: noqa: SLF001  # the library's public constants have these names

from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from enum import StrEnum
from functools import partial
from typing import Any, NamedTuple, NoReturn

from confluent_kafka import KafkaError, KafkaException, TopicPartition

from tests.model_consumer import Said
from tests.model_group import Metadata
from tests.model_log import Entry, Fate, Log, Transaction

CLUSTER_ID = "model"

Report = Callable[[KafkaError | None, Said], object]


class Fault(StrEnum):
    """What may go wrong with a call of a transaction."""

    PRODUCE = "a record is refused, since the transaction has failed"
    OFFSETS = "the offsets are refused"
    OFFSETS_AGAIN = "the offsets are to be sent again"
    COMMIT = "the commit is refused"
    COMMIT_AGAIN = "the commit is to be asked for again"
    COMMIT_DONE_AGAIN = "the commit is done, and is to be asked for again"
    COMMIT_UNKNOWN = "nobody answers, and nothing is committed"
    COMMIT_DONE_UNKNOWN = "nobody answers, and all is committed"


class Faults:
    """What each worker has still to meet, each once."""

    def __init__(self) -> None:
        self.laid: dict[str, list[Fault]] = defaultdict(list)

    def meets(self, name: str, *kinds: Fault) -> Fault | None:
        """The first of these that is laid out for the worker, which has met it then."""
        for kind in kinds:
            if kind in self.laid[name]:
                self.laid[name].remove(kind)
                return kind
        return None


class ModelProducer:
    """A transactional producer. What it produces is in the log at once, open."""

    def __init__(self, log: Log, faults: Faults, options: Mapping[str, Any]) -> None:
        self._log = log
        self._faults = faults
        self._name = options["transactional.id"]
        self._epoch = 0
        self._transaction: Transaction | None = None
        self._failed: KafkaError | None = None
        self._reports: deque[Callable[[], object]] = deque()

    def init_transactions(self, _timeout: float) -> None:
        """Take the name."""
        self._epoch = self._log.take_name(self._name)

    def begin_transaction(self) -> None:
        """Nothing yet: the broker hears of it with the first record."""
        assert self._transaction is None
        self._failed = None

    def produce(
        self,
        topic: str,
        value: bytes | None = None,
        key: str | bytes = b"",
        partition: int = -1,
        callback: Report | None = None,
        *,
        on_delivery: Report | None = None,
        headers: Sequence[tuple[str, bytes | None]] | None = None,
    ) -> None:
        """Append a record. Its report waits until reports are taken in."""
        if self._faults.meets(self._name, Fault.PRODUCE):
            self._failed = KafkaError(
                KafkaError.INVALID_TXN_STATE, "it has failed", txn_requires_abort=True
            )
            raise KafkaException(KafkaError(KafkaError._STATE, "it has failed before"))
        if self._is_fenced():
            return
        raw = key.encode() if isinstance(key, str) else key
        number = partition if partition >= 0 else self._partition_of(raw)
        place, record = (topic, number), (raw, value, tuple(headers or ()))
        offset = self._log.append_entry(place, record, self._ours())
        if (report := on_delivery or callback) is not None:
            entry = Entry(offset, *record, self._log.now_ms + self._log.leap_ms, 0)
            self._reports.append(partial(report, None, Said(place, entry)))

    def _partition_of(self, key: bytes) -> int:
        last = key[-1:]
        return int(last) % self._log.count if last.isdigit() else 0

    def _ours(self) -> Transaction:
        if self._transaction is None:
            self._transaction = self._log.begin(self._name)
        return self._transaction

    def _is_fenced(self) -> bool:
        return self._log.epochs[self._name] != self._epoch

    def poll(self, _timeout: float) -> int:
        """Take in reports."""
        reports = list(self._reports)
        self._reports.clear()
        for report in reports:
            report()
        return len(reports)

    def _check(self) -> None:
        if self._is_fenced():
            raise KafkaException(KafkaError(KafkaError._FENCED, "a newer one", fatal=True))
        if self._failed is not None:
            raise KafkaException(self._failed)

    def _refuse(self, code: int, reason: str) -> NoReturn:
        self._failed = KafkaError(code, reason, txn_requires_abort=True)
        raise KafkaException(self._failed)

    def send_offsets_to_transaction(
        self, offsets: Sequence[TopicPartition], shown: Metadata, _timeout: float
    ) -> None:
        """Have the group's offsets moved with the commit. An empty list is passed over."""
        self._check()
        if self._faults.meets(self._name, Fault.OFFSETS_AGAIN):
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT, retriable=True))
        if self._faults.meets(self._name, Fault.OFFSETS):
            self._refuse(KafkaError.NETWORK_EXCEPTION, "laid out")
        if not offsets:
            return
        if (code := self._log.group.refusal(shown)) is not None:
            self._refuse(code, "the group does not take it")
        ours = self._ours().offsets
        ours |= {each.partition: (each.offset, each.metadata or "") for each in offsets}

    def commit_transaction(self, _timeout: float) -> None:
        """Commit, once all reports are in."""
        self._check()
        self.poll(0)
        fault = self._faults.meets(self._name, *(each for each in Fault if "COMMIT" in each.name))
        if fault is Fault.COMMIT:
            self._refuse(KafkaError.NETWORK_EXCEPTION, "laid out")
        if fault is Fault.COMMIT_UNKNOWN:
            raise KafkaException(KafkaError(KafkaError._FATAL, "laid out", fatal=True))
        if fault is Fault.COMMIT_AGAIN:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT, retriable=True))
        self._commit()
        if fault is Fault.COMMIT_DONE_UNKNOWN:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT, "laid out"))
        if fault is Fault.COMMIT_DONE_AGAIN:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT, retriable=True))

    def _commit(self) -> None:
        if self._transaction is not None and self._transaction.fate is Fate.OPEN:
            self._log.check_held(self._transaction)
            self._log.commit(self._transaction)
        self._transaction = None

    def abort_transaction(self, _timeout: float) -> None:
        """Take the transaction back. It waits for reports that nobody takes in."""
        if self._reports:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT, retriable=True))
        if self._is_fenced():
            raise KafkaException(KafkaError(KafkaError._FENCED, "a newer one", fatal=True))
        if self._transaction is not None:
            self._log.abort(self._transaction)
        self._transaction = self._failed = None


class _Id(NamedTuple):
    cluster_id: str = CLUSTER_ID
    topic_id: str = ""
    offset: int = 0


class ModelAdmin:
    """What a worker asks of the cluster when it starts, and the changelog's end."""

    def __init__(self, log: Log) -> None:
        self._log = log

    def describe_cluster(self, **_options: Any) -> "Future[_Id]":
        """The cluster's id."""
        return _done(_Id())

    def describe_topics(self, topics: Any, **_options: Any) -> dict[str, "Future[_Id]"]:
        """Each topic's id."""
        return {name: _done(_Id(topic_id=f"id of {name}")) for name in topics.topic_names}

    def list_topics(self, _topic: str, _timeout: float) -> None:
        """Learn who leads."""

    def list_offsets(
        self, asked: Mapping[TopicPartition, Any], **_options: Any
    ) -> dict[TopicPartition, "Future[_Id]"]:
        """One past the last record, whatever has become of its transaction."""
        return {
            each: _done(_Id(offset=self._log.partitions[each.topic, each.partition].end))
            for each in asked
        }


def _done(answer: _Id) -> "Future[_Id]":
    future: Future[_Id] = Future()
    future.set_result(answer)
    return future
