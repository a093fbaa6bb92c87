"""When rows may be forgotten: an index of row keys by the time at which each is looked at again.

Owns: the index. A row has one entry at a time; touching a row costs no entry, because whoever
sweeps looks at the row and may put it off.
May not: delete a row, or know what it holds.
"""

from itertools import islice
from typing import Final

from processors.core.tables import Row, Table
from processors.core.turn import Turn


class Due(Row, frozen=True):
    """Nothing: all is in the key."""


EXPIRY: Final = Table(0x18, Due)
_NOTHING: Final = Due()
# Table tag, eight bytes of time, two bytes of length; then the row's key.
_KEY_AT: Final = len(EXPIRY.key(0, b""))


def look_again(turn: Turn, key: bytes, *, at_ms: int) -> None:
    """Have the row with this key looked at once stream time has reached `at_ms`."""
    turn.put(EXPIRY, _NOTHING, at_ms, key)


def take_due(turn: Turn, *, limit: int) -> list[bytes]:
    """Remove and return up to `limit` keys whose time has come by stream time, earliest first."""
    due = turn.state.scan(EXPIRY.key(), EXPIRY.key(turn.stream_ms + 1))
    entries = [key for key, _ in islice(due, limit)]
    for entry in entries:
        turn.state.put(entry, None)
    return [entry[_KEY_AT:] for entry in entries]


def is_empty(turn: Turn) -> bool:
    """Whether no row waits to be looked at."""
    return not any(True for _ in turn.rows(EXPIRY))
