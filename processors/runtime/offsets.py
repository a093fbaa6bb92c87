"""Where a partition goes on: committed offset, position row and the log's start, weighed.

Owns: the policy for offsets that are missing, expired or beyond the end (never a silent jump),
and the name of a replay.
May not: talk to Kafka.
"""

from dataclasses import dataclass
from typing import Final

from processors.runtime.rows import PositionRow
from schemas.errors import Permanent

NO_OFFSET: Final = -1001
TO_EARLIEST: Final = (
    "with the stage stopped, set the offset of that partition with Kafka's own tool "
    "(kafka-consumer-groups --reset-offsets --to-earliest --execute)"
)


class OffsetGone(Permanent):
    """Records between the last one processed and the log's start are gone: a person decides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What Kafka says: the group's committed offset and the log's first and end offsets."""

    stage: str
    partition: int
    committed: int
    metadata: str
    start: int
    end: int
    now_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """The first record to read, and the replay that reading from there belongs to."""

    next_offset: int
    replay: str | None


def start_of(asked: Asked, position: PositionRow) -> Start:
    """Where to go on. Raises OffsetGone where going on would skip records in silence.

    A committed offset at or below the position means that somebody moved it back: the records up
    to the position are read again, under the id that came with the offset, else one made from
    stage, partition, offset and time.
    """
    is_usable = asked.committed >= asked.start and asked.committed <= asked.end
    if position.offset < 0 and is_usable and asked.committed > asked.start:
        raise OffsetGone(_stateless(asked))
    if not is_usable:
        return Start(next_offset=_after_position(asked, position), replay=None)
    if asked.committed > position.offset:
        return Start(next_offset=asked.committed, replay=None)
    made = f"{asked.stage}-{asked.partition}-{asked.committed}-{asked.now_ms}"
    return Start(next_offset=asked.committed, replay=asked.metadata or made)


def _after_position(asked: Asked, position: PositionRow) -> int:
    is_new = position.offset < 0
    if is_new and asked.committed == NO_OFFSET:
        return asked.start
    if is_new or not asked.start <= position.offset + 1 <= asked.end:
        known = "unknown" if is_new else str(position.offset)
        raise OffsetGone(
            f"{asked.stage} partition {asked.partition}: committed offset {asked.committed} is not "
            f"in the log ({asked.start} to {asked.end}) and the last record processed is {known}; "
            f"records in between are missing. To go on with what is there: {TO_EARLIEST}"
        )
    return position.offset + 1


def _stateless(asked: Asked) -> str:
    """Every transaction writes the position, so state is missing where there is an offset alone."""
    return (
        f"{asked.stage} partition {asked.partition}: offset {asked.committed} is committed, and "
        "its changelog and its store are empty: what was known of the records before it is gone. "
        "Bring the changelog topic back. To begin anew, with records that are read again counting "
        f"as new: {TO_EARLIEST}"
    )
