"""Each process of the whole path killed under load: ids in = ids out, mails = owed."""

import random
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from processors.runtime.steps import Step
from tests.pipeline import STAGES, Pipeline, conversation, pipeline
from tests.traffic import Traffic

THREADS, LENGTH = 125, 4
PER_SECOND = 100
SEEDS = (1, 2, *(pytest.param(seed, marks=pytest.mark.chaos) for seed in range(3, 9)))
INSIDE_A_BATCH = (Step.DECIDED, Step.PRODUCED, Step.OFFSETS_SENT, Step.COMMITTED, Step.STORED)


@pytest.fixture(scope="module")
def whole(broker: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipeline]:
    """One running set for all kills: each test brings events of its own."""
    folder: Path = tmp_path_factory.mktemp("whole")
    with pipeline(broker, f"kills-{uuid.uuid4().hex[:8]}-", folder) as running:
        yield running


def kill_twice(whole: Pipeline, name: str, *, traffic: Traffic, rnd: random.Random) -> None:
    """Kill a process at any moment, and its successor inside a batch."""
    process = whole.processes[name]
    process.kill()
    if name in ("door", "write"):
        whole.restart(name)
        process.kill()
    else:
        step = rnd.choice(INSIDE_A_BATCH)
        # The successor must find something to do: what comes now waits until it is there.
        with traffic.standing():
            whole.restart(name, ONEREPLY_HALT_AT=f"{step}:{rnd.randint(1, 5)}")
            process.wait_for("stage live")
        process.wait_halted()
        process.kill()
    whole.restart(name)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", ["door", *STAGES])
def test_kill_under_load_loses_and_doubles_nothing(whole: Pipeline, name: str, seed: int) -> None:
    """A process may die whenever it likes: every message is answered once."""
    rnd = random.Random(f"{name} {seed}")
    mails = conversation(f"{name}-{seed}", threads=THREADS, length=LENGTH, is_cut=name == "fetch")
    owed = Counter({mail.identity: 1 for mail in mails})
    before = whole.replies()
    whole.know(mails)

    traffic = Traffic(whole, mails, per_second=PER_SECOND, rnd=rnd)
    for moment in sorted(rnd.sample(range(50, 450), 2)):
        traffic.passed(moment)
        kill_twice(whole, name, traffic=traffic, rnd=rnd)
    traffic.ended()
    whole.await_mails(before.total() + owed.total())

    assert whole.replies() - before == owed
    assert whole.told(mails) == owed
