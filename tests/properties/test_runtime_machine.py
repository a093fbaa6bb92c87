"""The runtime against a model of a transactional log, with crashes at every step."""

from collections.abc import Callable, Sequence
from inspect import isfunction
from typing import Any

import pytest
from confluent_kafka import Consumer, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from processors.core.turn import Result
from processors.runtime.batch import Decided
from processors.runtime.overlay import Overlay
from processors.runtime.steps import Step
from processors.runtime.worker import Worker
from tests.model_clients import Fault, ModelAdmin, ModelProducer
from tests.model_consumer import ModelConsumer, Said
from tests.model_group import Metadata
from tests.model_machine import SCHEDULES, Rules
from tests.model_stage import CallRow, Decisions
from tests.model_workers import FIRST, SECOND
from tests.model_world import Parts

TestRuntime = Rules.TestCase
TestRuntime.settings = SCHEDULES


class StoreFirst(Worker):
    """Writes to the store what is not committed yet."""

    def _carry_out(self, decided: Decided, metadata: Any) -> None:
        for change in decided.changes:
            if (meta := change.partition.store.meta()) is not None:
                change.partition.store.write(change.writes.items(), meta)
        super()._carry_out(decided, metadata)


class Forgetful(Overlay):
    """Does not see what its own batch has written."""

    def get(self, key: bytes) -> bytes | None:
        """The committed row."""
        return self._committed.get(key)


class Forward(ModelConsumer):
    """Does not go back to what was rolled back."""

    def seek(self, place: TopicPartition) -> None:
        """Read on from there, if it lies ahead."""
        if place.offset >= self._at[place.topic, place.partition]:
            super().seek(place)


class Unstable(ModelConsumer):
    """Is content with offsets that a transaction may still move."""

    def committed(
        self, places: Sequence[TopicPartition], timeout: float
    ) -> Sequence[TopicPartition]:
        """The group's offsets as they are just now."""
        ongoing = dict(self._log.ongoing)
        self._log.ongoing.clear()
        try:
            return super().committed(places, timeout)
        finally:
            self._log.ongoing.update(ongoing)


class WithoutOffsets(ModelProducer):
    """Leaves out the offsets of partitions that have not moved."""

    def send_offsets_to_transaction(
        self, offsets: Sequence[TopicPartition], shown: Metadata, timeout: float
    ) -> None:
        """Only what is new."""
        known = self._log.group.offsets
        moved = [each for each in offsets if known.get(each.partition, (0,))[0] != each.offset]
        super().send_offsets_to_transaction(moved, shown, timeout)


class Credulous(Decisions):
    """Takes every result, whatever attempt it is of."""

    def is_current(self, _result: Result, _row: CallRow) -> bool:
        """It is."""
        return True


def crashed_before_its_commit(state: Rules) -> None:
    """It dies with records produced, and nobody's business done."""
    state.produce([("k0", "plain")], gap=False)
    state.work(FIRST, 4, early=False)
    state.crash(FIRST, Step.PRODUCED, [("k0", "plain")], disk="kept")


def same_key_twice_in_a_batch(state: Rules) -> None:
    """The second record of a key comes before the first is committed."""
    state.produce([("k0", "plain"), ("k1", "plain"), ("k0", "plain")], gap=False)
    state.work(FIRST, 4, early=False)


def rolled_back(state: Rules) -> None:
    """The group does not take the offsets of a batch."""
    state.work(FIRST, 4, early=False)
    state.lay_out(FIRST, Fault.OFFSETS)
    state.produce([("k0", "plain")], gap=False)
    state.work(FIRST, 2, early=False)


def taken_over_with_offsets_sent(state: Rules) -> None:
    """A successor comes while a transaction may still move the offsets."""
    state.come_back(SECOND, disk="kept")
    state.work(FIRST, 4, early=False)
    state.fall_asleep(FIRST, Step.OFFSETS_SENT, [("k0", "plain")])
    state.move(0, SECOND)
    state.work(SECOND, 4, early=False)
    state.work(FIRST, 2, early=False)


def taken_over_with_a_timer_in_hand(state: Rules) -> None:
    """A worker sleeps over a timer, which its successor fires."""
    state.come_back(SECOND, disk="kept")
    state.produce([("k0", "later")], gap=False)
    state.work(FIRST, 4, early=False)
    state.world.advance(11_000)
    state.fall_asleep(FIRST, Step.DECIDED, [])
    state.move(0, SECOND)
    state.work(SECOND, 4, early=False)
    state.work(FIRST, 2, early=False)


def answered_after_its_lease(state: Rules) -> None:
    """A call is tried again, and then the first attempt is answered."""
    state.produce([("k0", "outside")], gap=False)
    state.work(FIRST, 4, early=False)
    state.wait(21_000)
    state.work(FIRST, 2, early=False)
    state.answer(FIRST, 0)
    state.work(FIRST, 2, early=False)


STORIES: list[tuple[str, Callable[[Rules], None], dict[str, Any]]] = [
    ("store written before the commit", crashed_before_its_commit, {"worker": StoreFirst}),
    (
        "own writes not seen",
        same_key_twice_in_a_batch,
        {"others": {"processors.runtime.batch.Overlay": Forgetful}},
    ),
    ("rolled back and not read again", rolled_back, {"consumer": Forward}),
    ("unstable offsets read", taken_over_with_offsets_sent, {"consumer": Unstable}),
    ("offsets left out", taken_over_with_a_timer_in_hand, {"producer": WithoutOffsets}),
    ("results of any attempt taken", answered_after_its_lease, {"decisions": Credulous}),
]


def play(story: Callable[[Rules], None], parts: type[Parts]) -> None:
    """The story, and then all comes to rest."""
    state = type("Played", (Rules,), {"parts": parts})()
    try:
        state.begin()
        story(state)
        state.rest()
    finally:
        state.world.close()


@pytest.mark.parametrize(
    ("story", "broken"), [pytest.param(story, parts, id=name) for name, story, parts in STORIES]
)
def test_machine_fails_where_a_rule_of_the_runtime_is_broken(
    story: Callable[[Rules], None], broken: dict[str, Any]
) -> None:
    """A machine that cannot fail holds nothing; and none of these fails without the break."""
    play(story, Parts)

    with pytest.raises(AssertionError):
        play(story, type("Broken", (Parts,), broken))


@pytest.mark.parametrize(
    ("model", "real"),
    [
        pytest.param(ModelConsumer, Consumer, id="consumer"),
        pytest.param(ModelProducer, Producer, id="producer"),
        pytest.param(ModelAdmin, AdminClient, id="admin client"),
        pytest.param(Said, Message, id="message"),
    ],
)
def test_model_has_no_method_that_the_library_lacks(model: type, real: type) -> None:
    """Code that runs against the model must find the same names on the real client."""
    ours = {name for name, each in vars(model).items() if isfunction(each) and name[0] != "_"}

    assert ours - set(dir(real)) == set()
