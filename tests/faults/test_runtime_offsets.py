"""Committed offsets that expired or lie outside the log, on real Kafka: never a silent jump."""

import signal
from collections import Counter
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition

from schemas.cluster import admin, create_topics
from schemas.settings import Settings
from schemas.topics import Topic
from tests.logs import await_records, corner, put
from tests.processes import DEADLINE_S, Process
from tests.rewinding import forget_offsets, set_offset
from tests.staging import Told, stage, told

FIRST: list[Told] = [(f"k{number}".encode(), b"plain") for number in range(30)]
WAITING: list[Told] = [(f"w{number}".encode(), b"plain") for number in range(10)]
EXIT_CODE = 5


@pytest.fixture
def settings(broker: str, prefix: str, tmp_path: Path) -> Settings:
    """The stage has told the first records and was stopped; others wait."""
    found = corner(
        broker, prefix, partitions=1, session_timeout_ms=6_000, transaction_timeout_ms=4_000
    )
    create_topics(found)
    put(found, Topic.INBOUND_EVENTS, FIRST)
    with stage(found, tmp_path) as process:
        process.start()
        await_records(found, Topic.THREAD_EVENTS, len(FIRST))
        assert process.terminate() == 0
    put(found, Topic.INBOUND_EVENTS, WAITING)
    return found


def delete_before(settings: Settings, offset: int) -> None:
    """Delete the input's records below that offset, as retention does."""
    place = TopicPartition(settings.shape().name(Topic.INBOUND_EVENTS), 0, offset)
    client = admin(settings)
    client.delete_records([place])[place].result(DEADLINE_S)


def tell_waiting(settings: Settings, data: Path, *, count: int) -> Process:
    """The stage runs until it has told so many records in all."""
    with stage(settings, data) as process:
        process.start()
        await_records(settings, Topic.THREAD_EVENTS, count)
        assert process.terminate() == 0
    return process


def test_missing_records_stop_the_stage_until_a_person_skips_them(
    settings: Settings, tmp_path: Path
) -> None:
    """The line says what is missing and what to do; what that says is then done, and works."""
    delete_before(settings, 35)
    with stage(settings, tmp_path) as process:
        process.start()
        code, said = process.ended(), process.lines[-1]
        process.start()
        again = process.ended()

    assert (code, again) == (EXIT_CODE, EXIT_CODE)
    assert said.startswith("OffsetGone: dedupe partition 0: committed offset 30 is not in the log")
    assert "(35 to 40) and the last record processed is 29" in said
    assert "--to-earliest" in said
    assert told(settings) == Counter(FIRST)

    set_offset(settings, "dedupe", Topic.INBOUND_EVENTS, offset=35)
    tell_waiting(settings, tmp_path, count=len(FIRST) + 5)

    assert told(settings) == Counter([*FIRST, *WAITING[5:]])


def test_records_deleted_under_a_running_stage_stop_it(settings: Settings, tmp_path: Path) -> None:
    """It was too slow for its topic's retention: it must not go on behind the gap by itself."""
    with stage(settings, tmp_path) as process:
        process.start()
        await_records(settings, Topic.THREAD_EVENTS, len(FIRST) + len(WAITING))
        process.signal(signal.SIGSTOP)
        put(settings, Topic.INBOUND_EVENTS, FIRST)
        delete_before(settings, 60)
        process.signal(signal.SIGCONT)
        code, said = process.ended(), process.lines[-1]
        process.start()
        again, then = process.ended(), process.lines[-1]

    assert (code, again) == (EXIT_CODE, EXIT_CODE)
    assert "the next offset is no longer in the log" in said
    assert "(60 to 70) and the last record processed is 39" in then


@pytest.mark.parametrize("committed", [None, 10_000, 0], ids=["expired", "beyond", "below"])
def test_unusable_offset_goes_on_after_the_last_record_processed(
    settings: Settings, tmp_path: Path, committed: int | None
) -> None:
    """The state knows how far it is: nothing is skipped, nothing is read again, and it is said."""
    if committed is None:
        forget_offsets(settings, "dedupe")
    else:
        set_offset(settings, "dedupe", Topic.INBOUND_EVENTS, offset=committed)
    if committed == 0:
        delete_before(settings, 20)

    process = tell_waiting(settings, tmp_path, count=len(FIRST) + len(WAITING))

    assert told(settings) == Counter([*FIRST, *WAITING])
    assert any('"committed offset not usable"' in line for line in process.lines)
