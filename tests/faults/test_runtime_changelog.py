"""Changelogs as a long life leaves them, on real Kafka: compacted, with aborted rows at the end."""

from collections import Counter
from pathlib import Path

from processors.runtime.rows import POSITION_KEY, PositionRow, packed
from schemas.cluster import create_topics
from schemas.topics import Topic
from tests.compaction import abort_at_end, await_cleaned, clean_soon, offsets_in
from tests.logs import await_records, corner, put
from tests.stages import SEEN, SeenRow
from tests.staging import Told, stage, told

EVENTS: list[Told] = [(f"k{number}".encode(), b"plain") for number in range(30)]
NEVER_SEEN = b"never seen"


def test_restore_crosses_gaps_and_aborted_rows_at_the_end(
    broker: str, prefix: str, tmp_path: Path
) -> None:
    """It counts positions, not rows: what was aborted is not taken in, and nothing hangs."""
    settings = corner(broker, prefix, partitions=1, recovery_silence_ms=20_000)
    create_topics(settings)
    clean_soon(settings, Topic.DEDUPE_STATE)
    with stage(settings, tmp_path / "first") as process:
        process.start()
        # Each is a batch of its own and writes the position anew, which compaction removes.
        for number, event in enumerate(EVENTS):
            put(settings, Topic.INBOUND_EVENTS, [event])
            await_records(settings, Topic.THREAD_EVENTS, number + 1)
        assert process.terminate() == 0
    aborted = {
        SEEN.key(NEVER_SEEN): packed(SeenRow(offset=7)),
        SEEN.key(b"k0"): None,
        POSITION_KEY: packed(PositionRow(topic_id="another", offset=1_000_000)),
    }
    abort_at_end(settings, Topic.DEDUPE_STATE, aborted)
    left = await_cleaned(settings, Topic.DEDUPE_STATE, most=len(EVENTS) * 3 // 2)
    abort_at_end(settings, Topic.DEDUPE_STATE, aborted)
    _, end = offsets_in(settings, Topic.DEDUPE_STATE, committed=False)

    with stage(settings, tmp_path / "second") as process:
        put(settings, Topic.INBOUND_EVENTS, [*EVENTS, (NEVER_SEEN, b"plain")])
        process.start()
        await_records(settings, Topic.THREAD_EVENTS, len(EVENTS) + 1)
        assert process.terminate() == 0

    assert told(settings) == Counter([*EVENTS, (NEVER_SEEN, b"plain")])
    assert len(left) < left[-1] - left[0] + 1
    assert left[-1] + len(aborted) < end
