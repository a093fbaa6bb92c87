"""Where a partition goes on."""

import pytest

from processors.runtime.offsets import NO_OFFSET, Asked, OffsetGone, Start, start_of
from processors.runtime.rows import PositionRow

NOW_MS = 1_767_607_200_000


def asked(committed: int, *, start: int = 0, end: int = 100, metadata: str = "") -> Asked:
    """What Kafka says of partition 3 of dedupe."""
    return Asked(
        stage="dedupe",
        partition=3,
        committed=committed,
        metadata=metadata,
        start=start,
        end=end,
        now_ms=NOW_MS,
    )


def position(offset: int) -> PositionRow:
    """A position up to and including that offset."""
    return PositionRow(topic_id="t", offset=offset)


@pytest.mark.parametrize(
    ("said", "known", "expected"),
    [
        pytest.param(asked(NO_OFFSET), -1, Start(next_offset=0, replay=None), id="first-start"),
        pytest.param(
            asked(NO_OFFSET, start=7), -1, Start(next_offset=7, replay=None), id="first-start-late"
        ),
        pytest.param(asked(42), 41, Start(next_offset=42, replay=None), id="goes-on"),
        pytest.param(asked(42), 40, Start(next_offset=42, replay=None), id="marker-in-between"),
        pytest.param(asked(NO_OFFSET), 41, Start(next_offset=42, replay=None), id="commit-expired"),
        pytest.param(
            asked(10, start=20), 41, Start(next_offset=42, replay=None), id="commit-below-the-log"
        ),
        pytest.param(
            asked(200), 41, Start(next_offset=42, replay=None), id="commit-beyond-the-end"
        ),
        pytest.param(
            asked(10, metadata="night-shift"),
            41,
            Start(next_offset=10, replay="night-shift"),
            id="rewound-by-us",
        ),
        pytest.param(
            asked(10),
            41,
            Start(next_offset=10, replay=f"dedupe-3-10-{NOW_MS}"),
            id="rewound-by-another-tool",
        ),
    ],
)
def test_partition_goes_on_where_nothing_is_skipped(
    said: Asked, known: int, expected: Start
) -> None:
    """A silent jump loses mail; a silent step back answers twice."""
    assert start_of(said, position(known)) == expected


@pytest.mark.parametrize(
    ("said", "known"),
    [
        pytest.param(asked(10, start=20), -1, id="position-unknown"),
        pytest.param(asked(10, start=60), 41, id="position-below-the-log"),
        pytest.param(asked(NO_OFFSET, start=60), 41, id="nothing-committed-position-gone"),
    ],
)
def test_missing_records_stop_the_stage(said: Asked, known: int) -> None:
    """What retention removed unread is for a person to know."""
    with pytest.raises(OffsetGone, match="records in between are missing"):
        start_of(said, position(known))


def test_offset_without_state_stops_the_stage() -> None:
    """Going on would take everything that comes again for new, and answer it again."""
    with pytest.raises(OffsetGone, match="what was known of the records before it is gone"):
        start_of(asked(42), position(-1))
