"""Gives back the room of rows that have expired, at the pace at which rows are written.

A row that is older than its table's horizon counts as none from that moment on; sweeping only
frees its bytes. It needs no index: a cursor walks the table in key order, round and round, passing
two rows for each row written (one write in 1,024 pays for 2,048 rows). A round takes half as many
writes as the table has rows, so an expired row stays for a quarter of them on average: the table
settles at 4/3 of its live rows with peaks near 2, at any write rate. An index by time would cost a
second row, a second changelog record and two more deletions a row; a timer a row, the same. A
changed horizon holds for all rows at once, because no row says when it will expire.

Owns: the cursor.
May not: decide when a row expires.
"""

from collections.abc import Callable
from itertools import islice
from typing import Final, Generic, TypeVar
from zlib import crc32

from processors.core.tables import Row, Table, prefix_end
from processors.core.turn import Turn

RowT = TypeVar("RowT")

# Large steps: the first scan of a batch sorts what the batch has written so far.
SWEEP_ONE_IN: Final = 1_024
_ROWS_A_WRITE: Final = 2


class CursorRow(Row, frozen=True, kw_only=True, array_like=True):
    """Where the next step of the round begins."""

    start: bytes


class Sweep(Generic[RowT]):
    """The sweep of one table. `has_expired` takes a row and the partition's stream time."""

    def __init__(
        self,
        table: Table[RowT],
        cursor: Table[CursorRow],
        *,
        has_expired: Callable[[RowT, int], bool],
        one_in: int = SWEEP_ONE_IN,
    ) -> None:
        self._table = table
        self._cursor = cursor
        self._has_expired = has_expired
        self._one_in = one_in
        self._step_rows = _ROWS_A_WRITE * one_in

    def after_write(self, name: bytes, turn: Turn) -> None:
        """Take a step when this row's name says that it is its turn to pay."""
        # By hash, because offsets have gaps: a rule over them could meet none of ours for ever.
        if crc32(name) % self._one_in == 0:
            self.step(turn)

    def step(self, turn: Turn) -> None:
        """Remove what has expired among the next rows, twice as many as writes pay for a step."""
        prefix = self._table.key()
        cursor = turn.get(self._cursor)
        start = prefix if cursor is None else cursor.start
        rows = list(islice(turn.state.scan(start, prefix_end(prefix)), self._step_rows))
        for key, value in rows:
            if self._has_expired(self._table.decode(value), turn.stream_ms):
                turn.state.put(key, None)
        if len(rows) == self._step_rows:
            turn.put(self._cursor, CursorRow(start=rows[-1][0] + b"\0"))
        elif cursor is not None:
            turn.delete(self._cursor)
