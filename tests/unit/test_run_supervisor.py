import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from ops.kafka.errors import BrokerAway
from ops.kafka.process import until
from ops.run.broker import GivenBroker
from ops.run.folder import Folder
from ops.run.pipeline import Pipeline
from ops.run.plan import Plan
from ops.run.supervisor import Supervisor
from schemas.errors import SettingsError
from schemas.settings import load_settings
from tests.tellers import Told

DEADLINE_S = 20.0


class FallingBroker(GivenBroker):
    """A broker that falls over once."""

    is_down = False
    is_ours = True

    def require_running(self) -> None:
        """Raise while it is down."""
        if self.is_down:
            raise BrokerAway("no space")

    def start_again(self) -> None:
        """It is up again."""
        self.is_down = False


Start = Callable[..., Pipeline]


@pytest.fixture
def told() -> Told:
    """What was said."""
    return Told()


@pytest.fixture
def start(tmp_path: Path, told: Told) -> Iterator[Start]:
    """Starts a pipeline whose `reorder` behaves as named; everything ends with the test."""
    config = tmp_path / "onereply.toml"
    config.write_text("")
    started: list[Pipeline] = []

    def pipeline(behaviour: str) -> Pipeline:
        plan = Plan(
            folder=Folder(tmp_path),
            settings=load_settings(config_file=str(config), data_dir=str(tmp_path)),
            broker=FallingBroker("127.0.0.1:1"),
            provider_port=1,
            environ=os.environ,
            commands={"reorder": ("tests.parts", behaviour)},
        )
        started.append(Pipeline(plan, told))
        started[0].start_parts("reorder")
        return started[0]

    yield pipeline
    for each in started:
        each.kill()


def watched(
    pipeline: Pipeline, told: Told, *, until_said: str, by: Supervisor | None = None
) -> list[str]:
    """What was said until this sentence came."""
    supervisor = by or Supervisor(pipeline, told)

    def is_said() -> bool:
        supervisor.step()
        return any(until_said in each for each in told.sentences)

    assert until(is_said, deadline_s=DEADLINE_S), f"never said: {until_said}; but {told.sentences}"
    return told.sentences


def test_part_that_ends_is_started_again_with_a_line_that_says_why(
    start: Start, told: Told
) -> None:
    """Whoever looks at the terminal must see that something is wrong, and what."""
    pipeline = start("ends")

    said = watched(pipeline, told, until_said="(2)")

    assert said == [
        "reorder ended with code 3: broker does not answer; started again (1)",
        "reorder works again.",
        "reorder ended with code 3: broker does not answer; starts again in 1 s (2)",
    ]


def test_part_that_is_killed_works_again(start: Start, told: Told) -> None:
    """The promise is kept whatever is killed; somebody has to start it."""
    pipeline = start("works")
    pipeline.wait_ready("reorder")
    before = pipeline.parts["reorder"].pid

    pipeline.parts["reorder"].kill()
    watched(pipeline, told, until_said="works again")

    assert told.sentences[-2:] == [
        "reorder was ended by SIGKILL; started again (1)",
        "reorder works again.",
    ]
    assert psutil.pid_exists(before) is False


def test_part_with_wrong_settings_is_not_started_again_and_that_is_said(
    start: Start, told: Told
) -> None:
    """Settings do not mend themselves; a line every half minute would hide the first one."""
    said = watched(start("wrong-settings"), told, until_said="needs you")

    reason = "reorder ended with code 2: ONEREPLY_GRACE_MS: not a number"
    assert said == [f"{reason}; not started again: this needs you. The rest goes on."]


def test_start_fails_with_the_words_of_the_part_that_could_not(start: Start) -> None:
    """A run without one of its parts would accept mail and answer nobody."""
    pipeline = start("wrong-settings")

    with pytest.raises(SettingsError, match="ONEREPLY_GRACE_MS: not a number"):
        pipeline.wait_ready("reorder")


def test_kafka_that_falls_is_started_again_and_the_stages_with_it(start: Start, told: Told) -> None:
    """A stage whose client still waits for the broker that is gone would wait for ever."""
    pipeline = start("works")
    pipeline.wait_ready("reorder")
    before = pipeline.parts["reorder"].pid
    broker = pipeline.plan.broker
    assert isinstance(broker, FallingBroker)
    broker.is_down = True

    watched(pipeline, told, until_said="reorder works again")

    assert told.sentences[-3:] == [
        "kafka ended; started again (1)",
        "kafka works again; the stages start anew on it.",
        "reorder works again.",
    ]
    assert pipeline.parts["reorder"].pid != before


def test_start_that_fails_late_is_not_steady_work(start: Start, told: Told) -> None:
    """A part that takes a minute to fail would be started without a wait, for ever."""
    pipeline = start("fails")
    minutes = itertools.count(0, 100)
    supervisor = Supervisor(pipeline, told, clock=lambda: float(next(minutes)))

    said = watched(pipeline, told, until_said="(3)", by=supervisor)

    sentence = "reorder ended with code 3: no answer"
    assert said == [
        f"{sentence}; started again (1)",
        f"{sentence}; starts again in 1 s (2)",
        f"{sentence}; starts again in 2 s (3)",
    ]


def test_everything_stops_while_the_disk_has_no_room(start: Start, told: Told) -> None:
    """Kafka started on a full disk, again and again, once lost what it knew of its topics."""
    pipeline = start("works")
    pipeline.wait_ready("reorder")
    free = [99]
    supervisor = Supervisor(pipeline, told, free=lambda _: free[0])
    folder = pipeline.plan.folder.data_dir

    watched(pipeline, told, until_said="is full", by=supervisor)
    was_running = pipeline.parts["reorder"].is_running
    free[0] = 299
    supervisor.step()
    free[0] = 300
    said = watched(pipeline, told, until_said="reorder works again", by=supervisor)

    full = f"The disk that holds {folder} is full (99 MB free, 100 MB needed)."
    assert was_running is False
    assert said[1:] == [
        f"{full} Everything stops, and starts again at 300 MB free.",
        "There is room again (300 MB free): everything starts again.",
        "kafka works again; the stages start anew on it.",
        "reorder works again.",
    ]


def test_part_that_a_full_disk_ended_waits_for_room_as_all_do(start: Start, told: Told) -> None:
    """Its restarts would fail one after the other, and each would be said."""
    pipeline = start("ends")
    free = [0]
    supervisor = Supervisor(pipeline, told, free=lambda _: free[0])

    watched(pipeline, told, until_said="is full", by=supervisor)
    pipeline.parts["reorder"].has_ended(DEADLINE_S)
    supervisor.step()
    free[0] = 1_000
    said = watched(pipeline, told, until_said="reorder works again", by=supervisor)

    assert [each for each in said if "started again" in each] == []


def test_stop_returns_when_the_parts_are_gone(start: Start) -> None:
    """A process that stays holds its ports and its name."""
    pipeline = start("works")
    pipeline.wait_ready("reorder")
    pid = pipeline.parts["reorder"].pid

    pipeline.stop()

    assert (psutil.pid_exists(pid), pipeline.parts["reorder"].is_running) == (False, False)
    log = pipeline.plan.folder.logs / "reorder.log"
    assert "told to" in log.read_text()
