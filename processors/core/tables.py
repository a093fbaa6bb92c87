"""How a stage's state is laid out: tables of typed rows under ordered byte keys.

Owns: the encoding of keys (no two tuples of parts meet; a tuple's prefix is its key's prefix;
integers sort as numbers) and of rows (msgpack arrays, a few bytes each).
May not: hold state.
"""

from typing import Final, Generic, TypeVar

import msgspec

RowT = TypeVar("RowT")
Part = str | int | bytes

# Tags below 0x10 belong to the runtime: positions, timers.
FIRST_TABLE_TAG: Final = 0x10
_SIGN: Final = 1 << 63
# Each record makes several keys, and to look a size up takes a third of the time to pack it.
_COMMON: Final = 1024
_SIZES: Final = tuple(size.to_bytes(2, "big") for size in range(_COMMON))
_PACK: Final = msgspec.msgpack.Encoder().encode


class Row(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """The base of every row. Fields are stored in order: add at the end only, with a default."""


class Table(Generic[RowT]):
    """One table of a stage. `tag` is its number within the stage and never changes."""

    def __init__(self, tag: int, row_type: type[RowT]) -> None:
        if not FIRST_TABLE_TAG <= tag <= 0xEF:  # noqa: PLR2004  # the range that tables may use
            raise ValueError(f"tag {tag:#x} belongs to the runtime")
        self.tag = tag
        self._prefix = bytes((tag,))
        self._decoder = msgspec.msgpack.Decoder(row_type)

    def key(self, *parts: Part) -> bytes:
        """The row's key, or the prefix of all keys that begin with these parts."""
        key = self._prefix
        for part in parts:
            raw = part
            if isinstance(raw, str):
                raw = raw.encode("utf-8", "surrogatepass")
            elif isinstance(raw, int):
                key += (raw + _SIGN).to_bytes(8, "big")
                continue
            size = len(raw)
            key += (_SIZES[size] if size < _COMMON else size.to_bytes(2, "big")) + raw
        return key

    def decode(self, value: bytes) -> RowT:
        """The row in these bytes."""
        return self._decoder.decode(value)

    def encode(self, row: RowT) -> bytes:
        """The row's bytes."""
        return _PACK(row)


def prefix_end(prefix: bytes) -> bytes:
    """The first key after every key with this prefix."""
    trimmed = prefix.rstrip(b"\xff")
    return trimmed[:-1] + bytes((trimmed[-1] + 1,)) if trimmed else b"\xff" * 32
