"""Records that no door of ours wrote, on real Kafka and the real DEDUPE."""

from pathlib import Path

from schemas.topics import Topic
from tests.deduping import bring, corner_of_dedupe, dedupe
from tests.logs import await_records, put, records_in

RAW = [
    (b"agentmail/raw-1", b"\xff\xfe\x00\x01"),
    (b"agentmail/raw-2", b""),
    (b"agentmail/raw-3", b"{"),
]


def test_raw_records_are_set_aside_once_each_and_hold_nothing_up(
    broker: str, prefix: str, tmp_path: Path
) -> None:
    """Each keeps its bytes; what lies behind them in the partition is told."""
    settings = corner_of_dedupe(broker, prefix, tmp_path)
    put(settings, Topic.INBOUND_EVENTS, RAW)
    bring(settings, "evt_1")

    with dedupe(settings) as process:
        await_records(settings, Topic.THREAD_EVENTS, 1)
        assert process.terminate() == 0
        process.start()
        bring(settings, "evt_2")
        await_records(settings, Topic.THREAD_EVENTS, 2)
        assert process.terminate() == 0

    dead = records_in(settings, Topic.DEAD_LETTERS)
    assert sorted((each.key, each.value) for each in dead) == sorted(RAW)
    assert len(records_in(settings, Topic.THREAD_EVENTS)) == 2
