"""The runtime with no more work than its peers do, run as `python -m tests.bench.bare`.

Owns: a stage that knows a key and bytes: each key's first record goes out as it came in.
May not: read what it passes on.
"""

import signal
import sys
import threading
from typing import Final

from processors.core.tables import Row, Table
from processors.core.turn import Record, Turn
from processors.runtime.stage import Stage
from processors.runtime.steps import steps_from
from processors.runtime.worker import Worker
from schemas.logs import setup_logging
from schemas.settings import load_settings
from schemas.topics import Topic

NAME: Final = "bare"
# Topics that DEDUPE does not write, so that both can run on the same events.
OUTPUT: Final = Topic.ORDERED_EVENTS
CHANGELOG: Final = Topic.FETCH_STATE


class SeenRow(Row, frozen=True, kw_only=True, array_like=True):
    """Where a key was seen first."""

    offset: int


SEEN: Final = Table(0x10, SeenRow)


def on_record(record: Record, turn: Turn) -> None:
    """Pass the first record of each key on."""
    key = record.key or b""
    if turn.get(SEEN, key) is not None:
        return
    turn.emit(OUTPUT, key.decode(), record.value)
    turn.put(SEEN, SeenRow(offset=record.offset), key)


STAGE: Final = Stage(
    name=NAME,
    input=Topic.INBOUND_EVENTS,
    changelog=CHANGELOG,
    on_record=on_record,
    keys=lambda record: (SEEN.key(record.key or b""),),
)


def main() -> int:
    """Run the stage until SIGTERM."""
    setup_logging(NAME)
    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    Worker(STAGE, load_settings(), steps_from(None)).run(stopping.is_set)
    return 0


if __name__ == "__main__":
    sys.exit(main())
