"""A record set aside: the same key, value and headers, with where, by whom and why.

Owns: the form of a dead letter.
May not: decide that a record is dead.
"""

from processors.core.turn import Output, Record
from schemas.headers import (
    DEAD_ATTEMPT,
    DEAD_ERROR,
    DEAD_OFFSET,
    DEAD_PARTITION,
    DEAD_REASON,
    DEAD_STAGE,
    DEAD_TOPIC,
)
from schemas.topics import Topic

# A reason is for a person; what a stranger wrote into it must not fill the topic.
MOST_REASON: int = 500


def dead_letter(record: Record, *, stage: str, error: Exception, attempt: int = 1) -> Output:
    """The dead letter of a record that a stage cannot process. Its value bytes are unchanged."""
    place = f"{record.topic}-{record.partition}-{record.offset}"
    ours = (
        (DEAD_TOPIC, record.topic),
        (DEAD_PARTITION, str(record.partition)),
        (DEAD_OFFSET, str(record.offset)),
        (DEAD_STAGE, stage),
        (DEAD_ERROR, type(error).__name__),
        (DEAD_REASON, str(error)[:MOST_REASON]),
        (DEAD_ATTEMPT, str(attempt)),
    )
    return Output(
        topic=Topic.DEAD_LETTERS,
        key=record.key or place,
        value=record.value,
        headers=tuple(record.headers)
        + tuple((name, text.encode("utf-8", "replace")) for name, text in ours),
        mark=record.mark,
    )
