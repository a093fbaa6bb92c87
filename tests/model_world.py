"""The world around the workers of the machine: their log, clock, disks, and who judges them."""

import shutil
import tempfile
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from processors.runtime.rows import META_KEY
from processors.runtime.store import Store, StoreCache
from processors.runtime.worker import Worker
from schemas.headers import DEAD_PARTITION
from schemas.settings import Settings, load_settings
from schemas.topics import Topic
from tests.model_clients import Faults, ModelAdmin, ModelProducer
from tests.model_consumer import ModelConsumer
from tests.model_judge import Judge, read_by
from tests.model_log import NO_TRANSACTION, Entry, Fate, Log
from tests.model_process import ModelProcess
from tests.model_stage import Decisions, Outside, a_stage

PARTITIONS: Final = 2
BATCH_RECORDS: Final = 3
CACHE_BYTES: Final = 1024 * 1024
INPUT, OUTPUT = str(Topic.INBOUND_EVENTS), str(Topic.THREAD_EVENTS)
DEAD, CHANGELOG = str(Topic.DEAD_LETTERS), str(Topic.DEDUPE_STATE)


class Parts:
    """What the workers are made of. A mutation puts something else in the place of one."""

    worker: Any = Worker
    decisions: Any = Decisions
    consumer: Any = ModelConsumer
    producer: Any = ModelProducer
    others: dict[str, Any] = {}  # noqa: RUF012  # a mutation replaces it whole


class World:
    """One cluster, its clock, and the processes on it."""

    def __init__(self, parts: type[Parts]) -> None:
        self.parts = parts
        self.folder = Path(tempfile.mkdtemp(prefix="onereply-machine-", dir=memory_disk()))
        self.log = Log([INPUT, OUTPUT, DEAD, CHANGELOG], changelog=CHANGELOG, partitions=PARTITIONS)
        self.faults = Faults()
        self.judges = [Judge(number) for number in range(PARTITIONS)]
        self.outsides: dict[ModelProcess, Outside] = {}
        self.homes: dict[ModelProcess, Path] = {}
        self._read: dict[tuple[str, int], int] = {}
        self._began_ms = self.log.now_ms
        self._boot_s = time.monotonic()
        self._replays = 0
        self.patch = pytest.MonkeyPatch()
        self._put_in_place()

    def _put_in_place(self) -> None:
        """The workers make their own clients, and ask the system's clock."""
        consumer = partial(self.parts.consumer, self.log)
        self.patch.setattr("processors.runtime.worker.Consumer", consumer)
        self.patch.setattr("processors.runtime.restore.Consumer", consumer)
        producer = partial(self.parts.producer, self.log, self.faults)
        self.patch.setattr("processors.runtime.transactions.Producer", producer)
        self.patch.setattr(
            "processors.runtime.worker.admin", lambda _settings: ModelAdmin(self.log)
        )
        self.patch.setattr(time, "clock_gettime", self._boot)
        self.patch.setattr(time, "sleep", self._rest)
        for place, part in self.parts.others.items():
            self.patch.setattr(place, part)

    # -- the clock

    def _boot(self, _clock: int) -> float:
        if threading.current_thread().name == "watchdog":
            # It would end this very process over a worker that stands still in a transaction.
            return self._boot_s
        return self._boot_s + (self.log.now_ms - self._began_ms) / 1000

    def _rest(self, seconds: float) -> None:
        if threading.current_thread().name == "model-worker":
            self.log.advance(int(seconds * 1000) + 1)
        else:
            threading.Event().wait(seconds)

    def advance(self, elapsed_ms: int) -> None:
        """Time goes by, on every clock."""
        self.log.advance(elapsed_ms)
        self.patch.setenv("ONEREPLY_WALL_SHIFT_MS", str(self.log.now_ms - self._began_ms))

    def set_back(self, number: int, back: int, *, is_named: bool) -> None:
        """The committed offset becomes less, and its metadata names the replay, or does not."""
        self.judge()
        committed, _ = self.log.group.offsets[number]
        offset = max(0, committed - back)
        if offset < committed:
            self._replays += 1
            metadata = f"replay-{self._replays}" if is_named else ""
            self.log.group.offsets[number] = (offset, metadata)
            self.judges[number].rewound(offset, committed=committed, metadata=metadata)

    # -- processes

    def start(self, name: str, home: str) -> ModelProcess:
        """A worker of that name whose disk is there."""
        settings, outside = self._settings(name, home), Outside()
        stage = a_stage(outside, self.parts.decisions(outside))

        def run(is_stopping: Any, steps: Any) -> None:
            self.parts.worker(stage, settings, steps).run(is_stopping)

        process = ModelProcess(self.log, run, at_step=outside.at_step)
        self.outsides[process] = outside
        self.homes[process] = Path(settings.data_dir) / "state" / "dedupe" / name
        return process

    def _settings(self, name: str, home: str) -> Settings:
        return load_settings(
            topic_prefix="",
            partitions=PARTITIONS,
            durability="single-node",
            worker_name=name,
            data_dir=str(self.folder / home),
            store_cache_bytes=CACHE_BYTES,
            batch_records=BATCH_RECORDS,
            effects_at_once=1_000,
            transaction_timeout_ms=10_000,
        )

    def close(self) -> None:
        """Nothing of it stays."""
        for process in self.outsides:
            if not process.has_ended:
                process.kill()
        self.patch.undo()
        shutil.rmtree(self.folder, ignore_errors=True)

    # -- what must hold

    def judge(self) -> None:
        """Read on in what is committed, and judge it."""
        for number, judge in enumerate(self.judges):
            judge.inputs = read_by(self.log.committed_from((INPUT, number), 0))
            for entry in self._unread(OUTPUT, number):
                judge.take(entry)
        for number in range(PARTITIONS):
            for entry in self._unread(DEAD, number):
                self.judges[int(dict(entry.headers)[DEAD_PARTITION] or b"")].take_dead(entry)
        for number, (committed, _) in self.log.group.offsets.items():
            places = [(OUTPUT, number), *((DEAD, each) for each in range(PARTITIONS))]
            if not any(self.log.partitions[place].open for place in places):
                assert not self.judges[number].is_behind(committed), "an offset is ahead"

    def _unread(self, topic: str, number: int) -> list[Entry]:
        place = (topic, number)
        found = list(self.log.committed_from(place, self._read.get(place, 0)))
        self._read[place] = self.log.partitions[place].stable_end
        return found

    def check_stores(self, process: ModelProcess) -> None:
        """What a process that is no more has left on its disk is what the log has committed."""
        for path in sorted(self.homes[process].glob("[0-9]")):
            store = Store(path, StoreCache(CACHE_BYTES))
            meta, rows = store.meta(), dict(store.scan(b"", META_KEY[:1]))
            store.close()
            at = 0 if meta is None else meta.next_changelog
            self._check_rows(int(path.name), rows, at)

    def _check_rows(self, number: int, rows: dict[bytes, bytes], at: int) -> None:
        """A restore that was cut short may lack what compaction has replaced further on."""
        decided = [each for each in self.changelog(number) if each.offset < at]
        later = {each.key for each in self.changelog(number) if each.offset >= at}
        then = {(each.key, each.value) for each in decided}
        known = {key: value for key, value in rows.items() if key not in later}
        assert known == {key: value for key, value in folded(decided).items() if key not in later}
        assert {pair for pair in rows.items() if pair[0] in later} <= then

    def changelog(self, number: int) -> list[Entry]:
        """What is committed of it, whether its marker has arrived or not."""
        fine = (Fate.DECIDED, Fate.COMMITTED)
        return [
            each
            for each in self.log.partitions[CHANGELOG, number].history
            if each.transaction == NO_TRANSACTION or self.log.fates[each.transaction].fate in fine
        ]


def memory_disk() -> Path | None:
    """A folder in memory, where the system has one: stores are opened a thousand times."""
    folder = Path("/dev/shm")  # noqa: S108  # mkdtemp makes a folder of its own in it
    return folder if folder.is_dir() else None


def folded(entries: list[Entry]) -> dict[bytes, bytes]:
    """The rows that a changelog comes to."""
    rows: dict[bytes, bytes] = {}
    for each in entries:
        if each.value is None:
            rows.pop(each.key, None)
        else:
            rows[each.key] = each.value
    return rows
