"""The runtime's own rows, under tags that no stage may use.

Owns: the position row (in the changelog), timer rows (in the changelog), the store's own memory
of where it stands (in RocksDB alone).
May not: do I/O.
"""

from typing import Final

import msgspec

from processors.core.tables import Row, prefix_end
from processors.core.turn import Timer

# Changed when rows are laid out anew: a store of another format is rebuilt from its changelog.
FORMAT: Final = 1

POSITION_KEY: Final = b"\x00position"
_TIMER_TAG: Final = b"\x01"
TIMERS_END: Final = prefix_end(_TIMER_TAG)
META_KEY: Final = b"\xffmeta"

_PACK: Final = msgspec.msgpack.Encoder().encode


class PositionRow(Row, frozen=True, kw_only=True, array_like=True):
    """How far this partition's input was processed, and what is being read again.

    `offset` is the highest offset processed, -1 before the first. `stream_ms` is the highest
    LogAppendTime seen. `replay` is the id of the replay that is open, if one is.
    """

    topic_id: str
    offset: int = -1
    stream_ms: int = 0
    replay: str | None = None


class StoreMeta(Row, frozen=True, kw_only=True, array_like=True):
    """What a store knows of itself. `next_changelog` is where its changelog is to be read on."""

    format: int
    cluster_id: str
    changelog_id: str
    next_changelog: int
    live_at_ms: int


_POSITION: Final = msgspec.msgpack.Decoder(PositionRow)
_META: Final = msgspec.msgpack.Decoder(StoreMeta)


def packed(row: Row) -> bytes:
    """The row's bytes."""
    return _PACK(row)


def position_of(value: bytes | None) -> PositionRow | None:
    """The position row in these bytes, or None where there is none."""
    return None if value is None else _POSITION.decode(value)


def meta_of(value: bytes | None) -> StoreMeta | None:
    """The store's memory in these bytes, or None where there is none or it cannot be read."""
    try:
        return None if value is None else _META.decode(value)
    except msgspec.MsgspecError:
        return None


def timer_key(timer: Timer) -> bytes:
    """The key of a timer's row: due time first, so that rows lie in the order they are due."""
    kind = timer.kind.encode()
    return b"".join(
        (
            _TIMER_TAG,
            max(timer.due_ms, 0).to_bytes(8, "big"),
            len(kind).to_bytes(1, "big"),
            kind,
            timer.id.encode("utf-8", "surrogatepass"),
        )
    )


def timer_of(key: bytes) -> Timer:
    """The timer whose row has this key."""
    kind_end = 10 + key[9]
    return Timer(
        due_ms=int.from_bytes(key[1:9], "big"),
        kind=key[10:kind_end].decode(),
        id=key[kind_end:].decode("utf-8", "surrogatepass"),
    )


def timers_from(due_ms: int) -> bytes:
    """The first key that a timer due at that time could have."""
    return _TIMER_TAG + max(due_ms, 0).to_bytes(8, "big")
