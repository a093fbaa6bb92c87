"""How many events a CPU second the decisions of a stage take, without Kafka and without RocksDB.

Owns: records as the stages read them, given to the stages' decisions over rows in memory.
May not: count time in which this process did not run, since the machine may have other work.
"""

import gc
import os
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from processors import decide, dedupe, reorder
from processors.core.turn import Output, Record, Turn
from processors.runtime.overlay import Overlay, TimerRows
from processors.runtime.stage import Stage
from schemas.codec import to_json
from schemas.directory import Account, Directory, Inbox, parse_directory
from schemas.events import ORDERED_EVENT, THREAD_EVENT, ThreadEvent, Verdicts
from schemas.settings import Settings
from schemas.topics import Topic
from tests.bench.events import DIRECTORY, bodies, door_headers, plan, problem_of
from tests.bench.figures import RATE, Bench, Column, Measured, Row, Say, wrong
from tests.bench.reorder import INBOXES, LENGTH, mails
from tests.bench.reorder import problem_of as order_problem_of

EVENTS: Final = int(os.environ.get("EVENTS", "20000"))
REPEATS: Final = int(os.environ.get("REPEATS", "3"))
# The best of them is a run: what else the machine does can only make one slower.
PASSES: Final = 3
# What a busy stage takes at once.
BATCH: Final = 4_000
COST: Final = "us_an_event"
COLUMNS: Final = (
    Column(figure=RATE, title="median/CPU s"),
    Column(figure=COST, title="us an event", digits=1),
)
SETTINGS: Final = Settings.model_construct(None)


class Rows:
    """Committed rows, in order when they are scanned. Written between batches, never within one."""

    def __init__(self) -> None:
        self._rows: dict[bytes, bytes] = {}
        self._keys: list[bytes] = []

    def get(self, key: bytes) -> bytes | None:
        """The row's bytes, or None."""
        return self._rows.get(key)

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """The rows' bytes in the order of the keys."""
        return [self._rows.get(key) for key in keys]

    def scan(self, start: bytes, stop: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Rows from start up to but not including stop, in key order."""
        low, high = bisect_left(self._keys, start), bisect_left(self._keys, stop)
        return ((key, self._rows[key]) for key in self._keys[low:high])

    def write(self, writes: Mapping[bytes, bytes | None]) -> None:
        """Take in what a batch has written."""
        for key, value in writes.items():
            if value is None:
                self._rows.pop(key, None)
            else:
                self._rows[key] = value
        self._keys = sorted(self._rows)


def bench() -> Bench:
    """The bench, not yet run."""
    rows = {name: Row() for name in ROWS}

    def run(_servers: str, _folder: Path, say: Say) -> None:
        for number in range(1, REPEATS + 1):
            for name, measure in ROWS.items():
                rows[name].runs.append(best_of(measure))
                last = rows[name].runs[-1]
                say(f"  run {number}: {name}: {last.problem or f'{last.figures[RATE]:,.0f}/s'}")

    return Bench(
        name="deciding",
        question="events that a stage decides in a CPU second: from bytes to bytes",
        given=f"{EVENTS:,} events of 1 KiB, {REPEATS} runs, each the best of {PASSES}",
        needs_broker=False,
        columns=COLUMNS,
        run=run,
        rows=rows,
    )


def dedupe_row() -> Measured:
    """DEDUPE: bodies as the door writes them, one in twenty a repeat."""
    wanted, headers = plan(EVENTS), door_headers()
    given = [
        Record(Topic.INBOUND_EVENTS, 0, number, key.encode(), value, headers, _now_ms())
        for number, (key, value) in enumerate(bodies(wanted))
    ]
    outputs, cost_s = decided(dedupe.build(SETTINGS, parse_directory(DIRECTORY)), given)
    passed = [THREAD_EVENT.decode(each.value) for each in _on(Topic.THREAD_EVENTS, outputs)]
    dropped = len(_on(Topic.DUPLICATE_EVENTS, outputs))
    problem = problem_of([each.event_key for each in passed], wanted)
    if not problem and len(passed) + dropped != EVENTS:
        problem = f"WRONG: {dropped} said to be dropped"
    return _figures(cost_s, problem)


def reorder_row() -> Measured:
    """REORDER: conversations whose mails come in the order in which they were written."""
    outputs, cost_s = _reordered()
    came = [ORDERED_EVENT.decode(each.value).event.event_id for each in outputs]
    names = [each.removeprefix("evt-") for each in came]
    return _figures(cost_s, order_problem_of(names, threads=EVENTS // LENGTH))


def decide_row() -> Measured:
    """DECIDE: what REORDER wrote of them, in inboxes that answer all mail."""
    given = [
        Record(Topic.ORDERED_EVENTS, 0, number, b"inbox", each.value, each.headers, _now_ms())
        for number, each in enumerate(_reordered()[0])
    ]
    outputs, cost_s = decided(decide.build(SETTINGS, _answering()), given)
    judged = len({each.key for each in _on(Topic.DECISIONS, outputs)})
    asked = len(_on(Topic.REPLY_COMMANDS, outputs))
    problem = "" if judged == asked == EVENTS else f"WRONG: {judged} judged, {asked} asked"
    return _figures(cost_s, problem)


ROWS: Final[Mapping[str, Callable[[], Measured]]] = {
    "dedupe": dedupe_row,
    "reorder": reorder_row,
    "decide": decide_row,
}


def decided(stage: Stage, records: Sequence[Record]) -> tuple[list[Output], float]:
    """What the stage writes for these records, and the CPU seconds in which it decided that."""
    rows, outputs, cost_s = Rows(), list[Output](), 0.0
    # In a stage there is no such pile of input, which every full collection would walk.
    gc.freeze()
    for first in range(0, len(records), BATCH):
        batch, overlay = records[first : first + BATCH], Overlay(rows)
        timers = TimerRows(overlay, lambda _: None)
        turn = Turn(overlay, timers, now_ms=_now_ms(), stream_ms=batch[-1].timestamp_ms)
        begun_s = time.process_time()
        overlay.prefetch(key for record in batch for key in stage.keys(record))
        for record in batch:
            overlay.savepoint()
            turn.record = record
            stage.on_record(record, turn)
        cost_s += time.process_time() - begun_s
        rows.write(overlay.writes)
        outputs += turn.outputs
    return outputs, cost_s


def best_of(measure: Callable[[], Measured]) -> Measured:
    """The fastest of several passes; one that was wrong, if any was."""
    passes = [measure() for _ in range(PASSES)]
    return min(passes, key=lambda each: (not each.problem, -each.figures[RATE]))


def _reordered() -> tuple[list[Output], float]:
    given = [
        Record(
            Topic.THREAD_EVENTS, 0, number, b"inbox", to_json(_from_a_person(each)), (), _now_ms()
        )
        for number, each in enumerate(mails(EVENTS))
    ]
    return decided(reorder.build(SETTINGS, Directory()), given)


def _from_a_person(mail: ThreadEvent) -> ThreadEvent:
    """The mail with what DECIDE asks about a sender: each thread has a person, at a firm."""
    name = mail.thread_key or ""
    sender = f"Jane Roe <jane@{name}.example>"
    return msgspec.structs.replace(mail, sender=sender, signals={}, verdicts=Verdicts(spam="pass"))


def _answering() -> Directory:
    inbox = Inbox(workspace="main", account="main", route="send")
    account = Account(provider="agentmail", base_url="http://127.0.0.1:1", api_key="KEY")
    return Directory(
        workspaces={"main": {}},
        accounts={"main": account},
        inboxes={f"desk-{number}@inbox.example": inbox for number in range(INBOXES)},
    )


def _on(topic: Topic, outputs: Sequence[Output]) -> list[Output]:
    return [each for each in outputs if each.topic == topic]


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _figures(cost_s: float, problem: str) -> Measured:
    if problem:
        return wrong(problem)
    return Measured(figures={RATE: EVENTS / cost_s, COST: cost_s / EVENTS * 1e6})
