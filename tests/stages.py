"""A small stage for tests of the runtime, run as `python -m tests.stages`.

Every key of `inbound-events` once to `thread-events`. A value `later` or `tomorrow` is told again
by a timer, `outside` by an effect; what begins with `bad` cannot be processed, nor can the timer of
a `poison`; `large` and `wide` cause a record and `long` a row that Kafka would refuse. It knows no
mail.
"""

import os
import signal
import sys
import threading
from collections.abc import Mapping

from processors.__main__ import EXIT_CODES
from processors.core.tables import Row, Table
from processors.core.turn import Effect, Record, Result, Timer, Turn
from processors.runtime.stage import Lease, Stage
from processors.runtime.steps import steps_from
from processors.runtime.worker import Worker
from schemas.errors import OneReplyError, Refused
from schemas.logs import setup_logging
from schemas.settings import load_settings
from schemas.topics import MAX_RECORD_BYTES, Topic
from tests.halting import LOGGED_FIRST, LoggedFirst

LATER_MS = 200
LEASE_MS = 2_000
LARGE = b"x" * MAX_RECORD_BYTES
WAITS_MS = {"later": LATER_MS, "tomorrow": 24 * 3_600_000, "poison": LATER_MS}
TIMERS: Mapping[bytes | None, str] = {kind.encode(): kind for kind in WAITS_MS}


class SeenRow(Row, frozen=True, kw_only=True, array_like=True):
    """Where a key was seen first, and what of it is still to come."""

    offset: int
    attempt: str | None = None


SEEN = Table(0x10, SeenRow)


def on_record(record: Record, turn: Turn) -> None:
    """Pass the first record of each key on."""
    key, value = record.key or b"", record.value
    if (value or b"").startswith(b"bad"):
        raise Refused("it says that it is bad")
    if turn.get(SEEN, key) is not None and record.mark is None:
        return
    turn.emit(Topic.THREAD_EVENTS, key.decode(), value)
    _overdo(key.decode(), value, turn)
    attempt = f"a{record.offset}" if value == b"outside" else None
    turn.put(SEEN, SeenRow(offset=record.offset, attempt=attempt), key)
    if value in TIMERS:
        kind = TIMERS[value]
        turn.set_timer(Timer(turn.now_ms + WAITS_MS[kind], kind, key.decode()))
    if attempt is not None:
        _claim(key.decode(), attempt, turn)


def _overdo(key: str, value: bytes | None, turn: Turn) -> None:
    if value == b"large":
        turn.emit(Topic.THREAD_EVENTS, key, LARGE)
    if value == b"wide":
        turn.emit(Topic.THREAD_EVENTS, key, b"{}", headers=(("subject", LARGE),))
    if value == b"long":
        turn.state.put(SEEN.key(key, "long"), LARGE)


def _claim(key: str, attempt: str, turn: Turn) -> None:
    turn.set_timer(Timer(turn.now_ms + LEASE_MS, "lease", f"{key} {attempt}"))
    turn.start(Effect("call", key, attempt, None, LEASE_MS))


def on_timer(timer: Timer, turn: Turn) -> None:
    """Tell what was to be told later; try a call again whose lease ran out."""
    if timer.kind == "poison":
        raise Refused("it says that it is poisoned")
    if timer.kind in WAITS_MS:
        turn.emit(Topic.THREAD_EVENTS, timer.id, f"told {timer.kind}".encode())
        return
    key, _, attempt = timer.id.partition(" ")
    row = turn.get(SEEN, key.encode())
    if row is not None and row.attempt == attempt:
        turn.put(SEEN, SeenRow(offset=row.offset, attempt=f"{attempt}+"), key.encode())
        _claim(key, f"{attempt}+", turn)


def on_result(result: Result, turn: Turn) -> None:
    """Tell what a call came to, if it is the call that the row waits for."""
    row = turn.get(SEEN, result.id.encode())
    if row is None or row.attempt != result.attempt:
        return
    turn.put(SEEN, SeenRow(offset=row.offset), result.id.encode())
    turn.emit(Topic.THREAD_EVENTS, result.id, b"told outside")


async def perform(_effect: Effect, lease: Lease) -> bool:
    """A call that needs no time."""
    return lease.is_alive()


STAGE = Stage(
    name="dedupe",
    input=Topic.INBOUND_EVENTS,
    changelog=Topic.DEDUPE_STATE,
    on_record=on_record,
    on_timer=on_timer,
    on_result=on_result,
    perform=perform,
    keys=lambda record: [SEEN.key(record.key or b"")],
    timer_limits_ms=WAITS_MS | {"lease": LEASE_MS},
)


def main() -> int:
    """Run the stage until SIGTERM."""
    setup_logging("test-stage")
    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    try:
        settings = load_settings()
        steps = steps_from(os.environ.get("ONEREPLY_HALT_AT"))
        if LOGGED_FIRST in os.environ:
            steps = LoggedFirst(steps, settings)
        Worker(STAGE, settings, steps).run(stopping.is_set)
    except OneReplyError as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        return next(code for kind, code in EXIT_CODES.items() if isinstance(error, kind))
    return 0


if __name__ == "__main__":
    sys.exit(main())
