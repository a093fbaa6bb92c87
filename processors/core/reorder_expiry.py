"""Forgetting what is older than the horizon, at the pace at which new rows are written.

Owns: a walk over the rows that age, round and round, in steps.
May not: forget what is held.

There is no index by age, which would cost a row more for every mail. The walk passes four rows for
every record while a record writes two at most, so it is round at least twice while as many rows are
written as there are: no row outlives the horizon by more than half of it.
"""

from itertools import islice
from typing import Final

import msgspec

from processors.core.reorder_rows import COPIES, SWEEP, THREADS, Age, Sweep
from processors.core.tables import prefix_end
from processors.core.turn import Turn

STEP_ROWS: Final = 4096
_STEP_RECORDS: Final = 1024
# Fibonacci hashing: spreads any pattern of offsets evenly, e.g. only odd ones, as small
# transactions leave them.
_SPREAD: Final = 0x9E3779B1
_RANGE: Final = 1 << 32

_START: Final = THREADS.key()
_STOP: Final = prefix_end(COPIES.key())
_AGE: Final = msgspec.msgpack.Decoder(Age).decode


def is_step_due(offset: int) -> bool:
    """Whether the record at this offset takes the walk on: one in 1024, and always the same."""
    return offset * _SPREAD % _RANGE < _RANGE // _STEP_RECORDS


def sweep(turn: Turn, horizon_ms: int, *, limit: int = STEP_ROWS) -> None:
    """Take the walk on by up to `limit` rows, and forget those that are past the horizon."""
    begun = turn.get(SWEEP)
    start = _START if begun is None else begun.after + b"\0"
    passed = list(islice(turn.state.scan(start, _STOP), limit))
    for key, value in passed:
        age = _AGE(value)
        if not age.holds and age.stream_ms + horizon_ms <= turn.stream_ms:
            turn.state.put(key, None)
    if len(passed) == limit:
        turn.put(SWEEP, Sweep(after=passed[-1][0]))
    elif begun is not None:
        turn.delete(SWEEP)
