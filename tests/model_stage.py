"""A stage for the machine of the runtime: each thing it does is told, with what it knew by then.

A record's value names what happens: `plain`, `sum` (reads all rows), `later` (a timer), `cancel`
(of the key's last timer), `outside` and `twice` (a call, begun once or twice), `bad` and `poison`
(set aside, when read and when due); a record without a value takes its key's row away.
"""

import asyncio
import json
import threading
from dataclasses import dataclass
from typing import Final

from processors.core.tables import Row, Table
from processors.core.turn import Effect, Record, Result, Timer, Turn
from processors.runtime.stage import Lease, Stage
from processors.runtime.steps import Step
from schemas.errors import Refused
from schemas.topics import Topic

KINDS: Final = ("plain", "sum", "later", "cancel", "outside", "twice", "bad", "poison", "")
WAIT_MS: Final = 10_000
LEASE_MS: Final = 20_000
DEADLINE_S: Final = 20.0


class CountRow(Row, frozen=True, kw_only=True, array_like=True):
    """How many records of a key there were."""

    count: int


class LastRow(Row, frozen=True, kw_only=True, array_like=True):
    """The last timer of a key."""

    due_ms: int
    id: str


class CallRow(Row, frozen=True, kw_only=True, array_like=True):
    """A call that is under way, and which attempt at it counts."""

    attempt: int


COUNTS: Final = Table(0x10, CountRow)
LASTS: Final = Table(0x11, LastRow)
CALLS: Final = Table(0x12, CallRow)


@dataclass(frozen=True, slots=True)
class Call:
    """A call that waits for its answer."""

    effect: Effect
    answer: "asyncio.Future[None]"
    loop: asyncio.AbstractEventLoop
    is_over: threading.Event


class Outside:
    """Where the calls of one process arrive, and wait until a test answers them."""

    def __init__(self) -> None:
        self._arrived = threading.Condition()
        self._begun: dict[str, int] = {}
        self.wanted: dict[str, int] = {}
        self.calls: list[Call] = []

    async def perform(self, effect: Effect, _lease: Lease) -> None:
        """Wait for the answer. The result is in the worker's hands once `is_over` is set."""
        task = asyncio.current_task()
        assert task is not None
        loop = asyncio.get_running_loop()
        call = Call(effect, loop.create_future(), loop, threading.Event())
        task.add_done_callback(lambda _: call.is_over.set())
        with self._arrived:
            self.calls.append(call)
            self._begun[effect.attempt] = self._begun.get(effect.attempt, 0) + 1
            self._arrived.notify_all()
        await call.answer

    def answer(self, call: Call) -> None:
        """Answer it. Returns when its result has reached the worker's queue."""
        self.calls.remove(call)
        call.loop.call_soon_threadsafe(call.answer.set_result, None)
        assert call.is_over.wait(DEADLINE_S), "the result does not arrive"

    def at_step(self, step: Step) -> None:
        """What was decided begins after its commit: wait until it has, so that all runs agree."""
        if step is Step.POLLED:
            self.wanted.clear()
        if step is Step.STARTED:
            with self._arrived:
                assert self._arrived.wait_for(self._has_begun, DEADLINE_S), "a call does not begin"

    def _has_begun(self) -> bool:
        return all(self._begun.get(each, 0) >= count for each, count in self.wanted.items())


def a_stage(outside: Outside, decisions: "Decisions") -> Stage:
    """The stage of one process."""
    return Stage(
        name="dedupe",
        input=Topic.INBOUND_EVENTS,
        changelog=Topic.DEDUPE_STATE,
        on_record=decisions.on_record,
        on_timer=decisions.on_timer,
        on_result=decisions.on_result,
        perform=outside.perform,
        keys=lambda record: [COUNTS.key(record.key or b"")],
        timer_limits_ms={"later": WAIT_MS, "poison": WAIT_MS, "lease": LEASE_MS},
    )


class Decisions:
    """What the stage decides."""

    def __init__(self, outside: Outside) -> None:
        self._outside = outside

    def on_record(self, record: Record, turn: Turn) -> None:
        """Count it and tell so; then do what its value says. One that is marked is not counted."""
        key, kind = (record.key or b"").decode(), (record.value or b"").decode()
        row = turn.get(COUNTS, key)
        count = 0 if row is None else row.count
        if record.mark is None:
            count = 0 if kind == "" else count + 1
            _count(turn, key, count)
        total = sum(each.count for _, each in turn.rows(COUNTS)) if kind == "sum" else 0
        number = record.partition
        tell(turn, number, "record", record.offset, record.mark, count, total)
        self._follow(kind, key, turn, f"{number}:{record.offset}:{record.mark or ''}")

    def _follow(self, kind: str, key: str, turn: Turn, name: str) -> None:
        timer = Timer(turn.now_ms + WAIT_MS, kind, f"{key} {name}")
        if kind in ("later", "poison"):
            turn.set_timer(timer)
        if kind == "later":
            turn.put(LASTS, LastRow(due_ms=timer.due_ms, id=timer.id), key)
        if kind == "cancel" and (last := turn.get(LASTS, key)) is not None:
            turn.delete(LASTS, key)
            turn.cancel_timer(Timer(last.due_ms, "later", last.id))
            tell(turn, _number(last.id), "cancelled", last.id)
        if kind in ("outside", "twice"):
            self._claim(turn, name, 1, times=1 + (kind == "twice"))
        if kind == "bad":
            turn.set_timer(timer._replace(kind="later"))
            turn.start(Effect("call", "never", "never", None, LEASE_MS))
            raise Refused("it says that it is bad")

    def _claim(self, turn: Turn, name: str, attempt: int, *, times: int) -> None:
        turn.put(CALLS, CallRow(attempt=attempt), name)
        turn.set_timer(Timer(turn.now_ms + LEASE_MS, "lease", f"{attempt} {name}"))
        effect = Effect("call", name, f"{name}#{attempt}", None, LEASE_MS)
        for _ in range(times):
            turn.start(effect)
        self._outside.wanted[effect.attempt] = times
        tell(turn, int(name.partition(":")[0]), "claim", name, attempt)

    def on_timer(self, timer: Timer, turn: Turn) -> None:
        """Tell that it fired, or try a call again whose lease ran out."""
        first, _, name = timer.id.partition(" ")
        if timer.kind == "lease":
            row = turn.get(CALLS, name)
            if row is not None and row.attempt == int(first):
                self._claim(turn, name, row.attempt + 1, times=1)
            return
        tell(turn, _number(timer.id), "fired", timer.id)
        last = turn.get(LASTS, first)
        if last is not None and last.id == timer.id:
            turn.delete(LASTS, first)
        if timer.kind == "poison":
            raise Refused("it says that it is poisoned")

    def on_result(self, result: Result, turn: Turn) -> None:
        """Tell what came of a call, if it is the attempt that counts."""
        row = turn.get(CALLS, result.id)
        if row is None or not self.is_current(result, row):
            return
        turn.delete(CALLS, result.id)
        number, attempt = int(result.id.partition(":")[0]), int(result.attempt.partition("#")[2])
        tell(turn, number, "result", result.id, attempt)

    def is_current(self, result: Result, row: CallRow) -> bool:
        """Whether the result is of the attempt that the row waits for."""
        return result.attempt == f"{result.id}#{row.attempt}"


def _count(turn: Turn, key: str, count: int) -> None:
    if count:
        turn.put(COUNTS, CountRow(count=count), key)
    else:
        turn.delete(COUNTS, key)


def _number(timer_id: str) -> int:
    return int(timer_id.partition(" ")[2].partition(":")[0])


def tell(turn: Turn, number: int, *words: str | int | None) -> None:
    """Emit what happened, to the partition of the same number."""
    turn.emit(Topic.THREAD_EVENTS, f"p{number}", json.dumps(words).encode())
