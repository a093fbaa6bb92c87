from collections import Counter
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from processors.core.turn import Output
from schemas.topics import Topic
from tests.inbound import HORIZON_MS, Inbound, duplicates_in, events_in
from tests.payloads import a_mail_body

# An event's id, and the message that a copy of it brought.
Copy = tuple[str, str]
BODIES = {name: a_mail_body(message_id=f"<{name}@x.example>") for name in "mn"}
copies = st.tuples(st.sampled_from("ab"), st.sampled_from("mmmn"))
deliveries = st.lists(copies, min_size=1, max_size=12)


@dataclass
class Log:
    """A partition of the door's topic, read like the runtime reads it."""

    inbound: Inbound = field(default_factory=Inbound)
    records: list[Copy | None] = field(default_factory=list)
    told: Counter[Copy] = field(default_factory=Counter)

    def deliver(self, copy: Copy) -> list[Output]:
        """A copy comes and is read."""
        self.records.append(copy)
        return self._read(len(self.records) - 1, at=None)

    def compact(self) -> None:
        """Only the last copy of each key stays, whatever message it brought."""
        last = {copy[0]: offset for offset, copy in enumerate(self.records) if copy is not None}
        self.records = [
            copy if copy is not None and last[copy[0]] == offset else None
            for offset, copy in enumerate(self.records)
        ]

    def replay(self, start: int) -> Counter[Copy]:
        """Everything from this offset on is read again; what was told."""
        self.told.clear()
        for offset in range(start, len(self.records)):
            if self.records[offset] is not None:
                self._read(offset, at=offset)
        return self.told

    def latest(self, start: int) -> set[Copy]:
        """The copies still there that a replay from this offset has to tell, once each."""
        newest = {copy: offset for offset, copy in enumerate(self.records) if copy is not None}
        return {copy for copy, offset in newest.items() if offset >= start}

    def _read(self, offset: int, *, at: int | None) -> list[Output]:
        copy = self.records[offset]
        assert copy is not None
        outputs = self.inbound.bring(BODIES[copy[1]], event_id=copy[0], at=at)
        self.told.update([copy] * len(events_in(outputs)))
        return outputs


def log_of(brought: list[Copy]) -> Log:
    """A log into which these came."""
    log = Log()
    for copy in brought:
        log.deliver(copy)
    return log


@given(deliveries)
def test_every_event_passes_once_however_often_it_comes(brought: list[Copy]) -> None:
    """Two messages under one key are two events; copies of either are none."""
    assert log_of(brought).told == dict.fromkeys(brought, 1)


@given(deliveries)
def test_no_copy_disappears(brought: list[Copy]) -> None:
    """Passed on, or said to be dropped: a record that did neither would be lost."""
    log = Log()

    for copy in brought:
        outputs = log.deliver(copy)
        dropped = [each for each in duplicates_in(outputs) if each.reason == "same-event"]
        assert len(events_in(outputs)) + len(dropped) == 1


@given(deliveries, st.lists(st.integers(0, 11), min_size=1, max_size=3))
def test_a_replay_tells_every_event_once(brought: list[Copy], starts: list[int]) -> None:
    """From wherever it begins, and however often it is done."""
    log = log_of(brought)

    for start in starts:
        assert log.replay(start) == dict.fromkeys(log.latest(start), 1)


@given(deliveries, st.integers(0, 11), deliveries)
def test_a_replay_of_a_compacted_log_tells_every_event_once(
    brought: list[Copy], start: int, more: list[Copy]
) -> None:
    """Compaction leaves one copy a key, before or after others came."""
    log = log_of(brought)
    log.compact()
    for copy in more:
        log.deliver(copy)

    first = dict(log.replay(start))
    expected = log.latest(start)
    log.compact()

    assert first == dict.fromkeys(expected, 1)
    assert log.replay(start) == dict.fromkeys(log.latest(start), 1)


@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, HORIZON_MS)), min_size=1, max_size=12)
)
def test_within_the_horizon_of_its_first_sight_an_event_passes_once(
    brought: list[tuple[str, int]],
) -> None:
    """Afterwards it passes again: the second level knows its message for longer."""
    log, remembered_from = Log(), dict[Copy, int]()

    for event_id, later_ms in brought:
        copy = (event_id, "m")
        log.inbound.desk.now_ms += later_ms
        now_ms = log.inbound.desk.now_ms
        outputs = log.deliver(copy)
        is_known = now_ms - remembered_from.get(copy, -HORIZON_MS) <= HORIZON_MS
        if events_in(outputs):
            assert not is_known
            remembered_from[copy] = now_ms
        else:
            assert is_known


@given(deliveries, st.integers(0, 11))
def test_what_a_replay_causes_is_marked_and_nothing_else_is(
    brought: list[Copy], start: int
) -> None:
    """A replay alone never sends, and the mark is how later stages know it."""
    log = Log()
    live = [output for copy in brought for output in log.deliver(copy)]

    again = [
        output
        for offset in range(min(start, len(brought)), len(brought))
        for output in log.inbound.bring(
            BODIES[brought[offset][1]], event_id=brought[offset][0], at=offset
        )
    ]

    assert {each.mark for each in live} == {None}
    assert {each.mark for each in again} <= {"replay-1"}
    assert {each.topic for each in again} <= {Topic.THREAD_EVENTS, Topic.DUPLICATE_EVENTS}
