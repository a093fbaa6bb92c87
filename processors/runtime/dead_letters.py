"""What is set aside: the same key, value and headers, with where, by whom and why.

Owns: the form of a dead letter, and that it fits its topic.
May not: decide that a record is dead.
"""

from typing import Final

from processors.core.turn import FRAMING_BYTES, Output, Record, Result, Timer, size_of
from schemas.codec import to_json
from schemas.headers import (
    DEAD_ATTEMPT,
    DEAD_CUT,
    DEAD_ERROR,
    DEAD_OFFSET,
    DEAD_PARTITION,
    DEAD_REASON,
    DEAD_STAGE,
    DEAD_TOPIC,
    Headers,
)
from schemas.topics import MAX_DEAD_LETTER_BYTES, Topic

# A reason is for a person; what a stranger wrote into it must not fill the topic.
MOST_REASON: Final = 500
# A key that is longer than this is no key of ours, and is cut with the rest of its record.
MOST_KEY_BYTES: Final = 4096
MOST_BYTES: Final = MAX_DEAD_LETTER_BYTES - FRAMING_BYTES


def dead_letter(record: Record, *, stage: str, error: Exception, attempt: int = 1) -> Output:
    """The dead letter of a record that a stage cannot process. Its value bytes are unchanged.

    A record larger than any producer of ours writes is cut: the letter says where the whole lies.
    """
    place = f"{record.topic}-{record.partition}-{record.offset}"
    origin = {
        DEAD_TOPIC: record.topic,
        DEAD_PARTITION: str(record.partition),
        DEAD_OFFSET: str(record.offset),
    }
    ours = _headers(origin, stage=stage, error=error, attempt=attempt)
    letter = Output(
        topic=Topic.DEAD_LETTERS,
        key=record.key or place,
        value=record.value,
        headers=(*record.headers, *ours),
        mark=record.mark,
    )
    return letter if size_of(letter) <= MOST_BYTES else _cut(record, place, ours)


def dead_timer(timer: Timer, *, partition: int, stage: str, error: Exception) -> Output:
    """The dead letter of a timer whose decision failed. Its key is made from the timer."""
    value = {"due_ms": timer.due_ms, "kind": timer.kind, "id": _text(timer.id)}
    ours = _headers({DEAD_PARTITION: str(partition)}, stage=stage, error=error)
    return Output(Topic.DEAD_LETTERS, _key(timer.kind, timer.id), to_json(value), ours)


def dead_result(result: Result, *, partition: int, stage: str, error: Exception) -> Output:
    """The dead letter of a call whose result a stage cannot take. What was answered is left out."""
    value = {"kind": result.kind, "id": _text(result.id), "attempt": result.attempt}
    ours = _headers({DEAD_PARTITION: str(partition)}, stage=stage, error=error)
    return Output(Topic.DEAD_LETTERS, _key(result.kind, result.id), to_json(value), ours)


def _headers(origin: dict[str, str], *, stage: str, error: Exception, attempt: int = 1) -> Headers:
    named = origin | {
        DEAD_STAGE: stage,
        DEAD_ERROR: type(error).__name__,
        DEAD_REASON: str(error)[:MOST_REASON],
        DEAD_ATTEMPT: str(attempt),
    }
    return tuple((name, text.encode("utf-8", "replace")) for name, text in named.items())


def _cut(record: Record, place: str, ours: Headers) -> Output:
    key, value = record.key or b"", record.value or b""
    cut = Output(
        topic=Topic.DEAD_LETTERS,
        key=key if 0 < len(key) <= MOST_KEY_BYTES else place,
        value=b"",
        headers=(*ours, (DEAD_CUT, str(len(value)).encode())),
    )
    return cut._replace(value=value[: MOST_BYTES - size_of(cut)])


def _key(kind: str, name: str) -> str:
    return _text(f"{kind}/{name}")[:MOST_KEY_BYTES]


def _text(text: str) -> str:
    """The same without what UTF-8 does not have."""
    return text.encode("utf-8", "replace").decode()
