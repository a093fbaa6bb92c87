"""How parts end together, also those that do not want to."""

import os
import queue
from collections.abc import Iterator
from pathlib import Path

import pytest

from ops.run.logfile import LogFile
from ops.run.part import Happening, Part, Ready
from ops.run.stopping import AWAY_STOP_DEADLINE_S, end_parts
from tests.tellers import Told

DEADLINE_S = 20.0


@pytest.fixture
def stubborn(tmp_path: Path) -> Iterator[list[Part]]:
    """Two parts that do not end when they are told to."""
    tell = queue.SimpleQueue[Happening]()
    parts = [
        Part(
            name,
            ("tests.parts", "stubborn"),
            environ=os.environ,
            log=LogFile(tmp_path / name),
            tell=tell,
        )
        for name in ("dedupe", "send")
    ]
    for part in parts:
        part.start()
    for _ in parts:
        assert isinstance(tell.get(timeout=DEADLINE_S), Ready)
    yield parts
    for part in parts:
        part.kill()


def test_parts_that_hang_are_killed_together_and_named_once(stubborn: list[Part]) -> None:
    """On a full disk seven parts that wait one after the other take minutes."""
    told = Told()

    end_parts(stubborn, is_kafka_away=lambda: True, teller=told)

    assert [part.is_running for part in stubborn] == [False, False]
    assert told.sentences == [
        f"Killed, for not ending in {AWAY_STOP_DEADLINE_S:.0f} s: dedupe, send."
    ]


def test_kafka_that_goes_away_meanwhile_shortens_the_wait(stubborn: list[Part]) -> None:
    """What the parts wait for may die while they wait for it."""
    told, answers = Told(), iter([False, False])

    end_parts(stubborn, is_kafka_away=lambda: next(answers, True), teller=told)

    assert told.sentences == [
        f"Killed, for not ending in {AWAY_STOP_DEADLINE_S:.0f} s: dedupe, send."
    ]
