"""How long a worker that dies inside a transaction holds readers up, on real Kafka: measured."""

import logging
import time
from collections.abc import Callable
from pathlib import Path

from processors.runtime.steps import Step
from schemas.cluster import create_topics
from schemas.settings import Settings
from schemas.topics import Topic
from tests.compaction import offsets_in
from tests.halting import LOGGED_FIRST
from tests.logs import await_records, corner, put
from tests.processes import Process
from tests.staging import Told, stage

LOG = logging.getLogger(__name__)

EVENTS: list[Told] = [(f"k{number}".encode(), b"plain") for number in range(20)]
BEHIND: Told = (b"behind", b"written by another")
# How often the coordinator looks for transactions whose time is over.
COORDINATOR_LOOKS_S = 10.0
# Ten times what a process needs to start on an idle machine.
START_S = 20.0
BUSY_S = 3.0


def is_held_up(settings: Settings) -> bool:
    """Whether readers of what was committed stand before the end of the log."""
    _, seen_to = offsets_in(settings, Topic.THREAD_EVENTS, committed=True)
    _, end = offsets_in(settings, Topic.THREAD_EVENTS, committed=False)
    return seen_to < end


def held_up_s(settings: Settings, data: Path, *, then: Callable[[Process], object]) -> float:
    """How long a reader waited for what another wrote behind the dead worker's records."""
    put(settings, Topic.INBOUND_EVENTS, EVENTS)
    with stage(settings, data, **{LOGGED_FIRST: "yes"}) as process:
        process.start(ONEREPLY_HALT_AT=f"{Step.OFFSETS_SENT}:1")
        process.wait_halted()
        process.kill()
        died_at_s = time.monotonic()
        put(settings, Topic.THREAD_EVENTS, [BEHIND])
        assert is_held_up(settings)
        then(process)
        (record,) = await_records(settings, Topic.THREAD_EVENTS, 1)
        held_s = time.monotonic() - died_at_s
    LOG.info("held up for %.1f s", held_s)
    assert (record.key, record.value) == BEHIND
    return held_s


def test_worker_that_never_returns_holds_readers_up_no_longer_than_its_transaction(
    broker: str, prefix: str, tmp_path: Path
) -> None:
    """Its coordinator ends the transaction at the first look after its time."""
    settings = corner(broker, prefix, partitions=1)
    create_topics(settings)

    held_s = held_up_s(settings, tmp_path, then=lambda _process: None)

    assert held_s < settings.transaction_timeout_ms / 1000 + COORDINATOR_LOOKS_S + BUSY_S


def test_worker_that_returns_ends_its_transaction_at_once(
    broker: str, prefix: str, tmp_path: Path
) -> None:
    """Its name is all that this takes: nobody waits for the minute that the transaction has."""
    settings = corner(
        broker, prefix, partitions=1, transaction_timeout_ms=60_000, session_timeout_ms=60_000
    )
    create_topics(settings)

    held_s = held_up_s(settings, tmp_path, then=Process.start)

    assert held_s < START_S
