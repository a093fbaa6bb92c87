"""Kafka's transactional log and its groups, in memory, for the machine of the runtime.

What is modelled: offsets with gaps, transactions whose markers take an offset and may be late,
read_committed and the last stable offset, fencing by a name's epoch, group offsets that are
pending while their transaction is, generations and members' names, and compaction.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from threading import get_ident
from typing import NamedTuple

from tests.model_group import Group

NO_TRANSACTION = 0
TRANSACTION_TIMEOUT_MS = 10_000
SESSION_TIMEOUT_MS = 15_000


class Entry(NamedTuple):
    """One record as it lies in a partition."""

    offset: int
    key: bytes
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    timestamp_ms: int
    transaction: int


class Fate(StrEnum):
    """What has become of a transaction. A decided one still waits for its markers."""

    OPEN = "open"
    DECIDED = "decided"
    COMMITTED = "committed"
    ABORTED = "aborted"


Place = tuple[str, int]


@dataclass(slots=True, kw_only=True)
class Transaction:
    """One transaction of a name: where it has written, and the offsets that go with it."""

    number: int
    name: str
    since_ms: int
    fate: Fate = Fate.OPEN
    places: set[Place] = field(default_factory=set)
    offsets: dict[int, tuple[int, str]] = field(default_factory=dict)


@dataclass(slots=True)
class PartitionLog:
    """One partition. `history` is what was ever written, `kept` what compaction has left of it."""

    end: int = 0
    kept: list[Entry] = field(default_factory=list)
    history: list[Entry] = field(default_factory=list)
    open: dict[int, int] = field(default_factory=dict)

    @property
    def stable_end(self) -> int:
        """Up to where read_committed readers see."""
        return min(self.open.values(), default=self.end)


class Log:
    """A cluster of one broker, with one stage's topics and its group."""

    def __init__(self, topics: Sequence[str], *, changelog: str, partitions: int) -> None:
        self.changelog = changelog
        self.partitions = {
            (topic, number): PartitionLog() for topic in topics for number in range(partitions)
        }
        self.count = partitions
        self.group = Group(partitions)
        self.now_ms = 1_767_607_200_000
        self.leap_ms = 0
        self.are_markers_late = False
        self.epochs: dict[str, int] = {}
        self.ongoing: dict[str, Transaction] = {}
        self.fates: dict[int, Transaction] = {}
        # Threads of processes that were killed: what they still close reaches nobody.
        self.killed: set[int] = set()
        # Who was last told a partition's stable offset: from then on nobody else may move it.
        self.holder: dict[int, str] = {}

    # -- records

    def append(
        self, place: Place, key: bytes, value: bytes | None, transaction: Transaction | None = None
    ) -> int:
        """Write a record without headers; its offset."""
        return self.append_entry(place, (key, value, ()), transaction)

    def append_entry(
        self,
        place: Place,
        record: tuple[bytes, bytes | None, tuple[tuple[str, bytes | None], ...]],
        transaction: Transaction | None,
    ) -> int:
        """Write a record; its offset."""
        log, number = self.partitions[place], NO_TRANSACTION
        if transaction is not None:
            number = transaction.number
            transaction.places.add(place)
            log.open.setdefault(number, log.end)
        entry = Entry(log.end, *record, self.now_ms + self.leap_ms, number)
        log.kept.append(entry)
        log.history.append(entry)
        log.end += 1
        return entry.offset

    def skip_offset(self, place: Place) -> None:
        """Somebody's marker takes an offset."""
        self.partitions[place].end += 1

    def committed_from(self, place: Place, offset: int) -> Iterator[Entry]:
        """What read_committed readers see from there on, compaction left out."""
        log = self.partitions[place]
        return (each for each in log.history if self._is_seen(log, each, offset))

    def next_kept(self, place: Place, offset: int) -> Entry | None:
        """The next record that a read_committed reader gets."""
        log = self.partitions[place]
        return next((each for each in log.kept if self._is_seen(log, each, offset)), None)

    def _is_seen(self, log: PartitionLog, entry: Entry, offset: int) -> bool:
        if not offset <= entry.offset < log.stable_end:
            return False
        number = entry.transaction
        return number == NO_TRANSACTION or self.fates[number].fate is Fate.COMMITTED

    def compact(self, place: Place) -> None:
        """Drop what a later committed record of its key replaces; offsets stay as they are."""
        log = self.partitions[place]
        last = {each.key: each.offset for each in self.committed_from(place, 0)}
        log.kept = [
            each
            for each in log.kept
            if each.offset >= log.stable_end
            or (self._is_seen(log, each, 0) and last[each.key] == each.offset)
        ]

    # -- transactions

    def take_name(self, name: str) -> int:
        """End what the name left open; its next epoch, which fences all before it."""
        transaction = self.ongoing.get(name)
        if transaction is not None and transaction.fate is Fate.OPEN:
            self.abort(transaction)
        self.settle(name)
        self.epochs[name] = self.epochs.get(name, 0) + 1
        return self.epochs[name]

    def begin(self, name: str) -> Transaction:
        """A new transaction of that name; the markers of its last one are there by then."""
        self.settle(name)
        number = len(self.fates) + 1
        begun = Transaction(number=number, name=name, since_ms=self.now_ms)
        self.fates[number] = self.ongoing[name] = begun
        return begun

    def commit(self, transaction: Transaction) -> None:
        """Decide it; its markers follow at once, or later."""
        transaction.fate = Fate.DECIDED
        if not self.are_markers_late:
            self.settle(transaction.name)

    def abort(self, transaction: Transaction) -> None:
        """Take it back."""
        transaction.fate = Fate.ABORTED
        self._mark(transaction)

    def settle(self, name: str) -> None:
        """Write the markers of a transaction that was decided."""
        transaction = self.ongoing.get(name)
        if transaction is not None and transaction.fate is Fate.DECIDED:
            transaction.fate = Fate.COMMITTED
            self.group.offsets.update(transaction.offsets)
            self._mark(transaction)

    def settle_all(self) -> None:
        """Write all markers that are on their way."""
        for name in list(self.ongoing):
            self.settle(name)

    def _mark(self, transaction: Transaction) -> None:
        for place in transaction.places:
            self.partitions[place].open.pop(transaction.number, None)
            self.partitions[place].end += 1
        del self.ongoing[transaction.name]

    def check_held(self, transaction: Transaction) -> None:
        """Assert that nobody else builds by now on where its partitions stood."""
        touched = set(transaction.offsets)
        touched |= {number for topic, number in transaction.places if topic == self.changelog}
        holders = {number: self.holder.get(number) for number in touched}
        assert holders == dict.fromkeys(touched, transaction.name), "a zombie commits"

    def is_killed(self) -> bool:
        """Whether the process that asks is no more."""
        return get_ident() in self.killed

    def is_pending(self, number: int) -> bool:
        """Whether a transaction that is not over may still move that partition's offset."""
        return any(number in each.offsets for each in self.ongoing.values())

    def advance(self, elapsed_ms: int) -> None:
        """Time goes by: what has lain open for too long is ended, and its name fenced."""
        self.now_ms += elapsed_ms
        for name, each in list(self.ongoing.items()):
            if each.fate is Fate.OPEN and self.now_ms - each.since_ms > TRANSACTION_TIMEOUT_MS:
                self.abort(each)
                self.epochs[name] += 1
