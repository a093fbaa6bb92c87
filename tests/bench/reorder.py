"""How many events a second pass REORDER when they come in order, as nearly all do.

Owns: conversations whose mails come in the order in which they were written.
May not: count a mail that came out before the one that it answers.
"""

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from confluent_kafka import Producer

from schemas.cluster import producer_config
from schemas.codec import to_json
from schemas.events import ORDERED_EVENT, Kind, ThreadEvent, Where
from schemas.headers import RECEIVED_AT
from schemas.keys import EventId, EventKey, InboxId, MessageId, SourceName, ThreadKey
from schemas.topics import Topic
from tests.bench.events import DEADLINE_S, TEXT, rate_of, read_all
from tests.bench.figures import PEAK_MIB, RATE, Bench, Measured, Row, Say, wrong
from tests.bench.ground import Ground, end_watch, new_ground
from tests.bench.running import Program

EVENTS: Final = int(os.environ.get("EVENTS", "100000"))
REPEATS: Final = int(os.environ.get("REPEATS", "3"))
NAME: Final = "reorder_in_order"
# A question, an answer to ours, and so on: most conversations are short.
LENGTH: Final = 5
INBOXES: Final = 100
_PROGRESS: Final = 10_000


def bench() -> Bench:
    """The bench, not yet run."""
    rows = {NAME: Row()}

    def run(servers: str, folder: Path, say: Say) -> None:
        for number in range(1, REPEATS + 1):
            ground = new_ground(servers, folder / f"reorder-{number}")
            _load(ground)
            rows[NAME].runs.append(_measured(ground))
            last = rows[NAME].runs[-1]
            say(f"  run {number}: {last.problem or f'{last.figures[RATE]:,.0f}/s'}")

    return Bench(
        name="reorder",
        question="events a second through reorder, when they come in order",
        given=f"{EVENTS:,} mails of 1 KiB in threads of {LENGTH}, {REPEATS} runs",
        run=run,
        rows=rows,
    )


def mails(events: int) -> Iterator[ThreadEvent]:
    """Every thread's first mail, then every thread's second, and so on."""
    threads, began_ns = events // LENGTH, (time.time_ns() // 1_000_000 - 3_600_000) * 1_000_000
    for number in range(threads * LENGTH):
        step, thread = divmod(number, threads)
        yield a_mail(thread, step, occurred_at_ns=began_ns + number * 1_000_000)


def a_mail(thread: int, step: int, *, occurred_at_ns: int) -> ThreadEvent:
    """One mail of a thread; it names the one before it."""
    name = f"{thread}-{step}"
    return ThreadEvent(
        kind=Kind.RECEIVED,
        event_key=EventKey(f"support/evt-{name}"),
        event_id=EventId(f"evt-{name}"),
        source=SourceName("support"),
        provider="agentmail",
        workspace="main",
        inbox_id=InboxId(f"desk-{thread % INBOXES}@inbox.example"),
        occurred_at_ns=occurred_at_ns,
        received_at_ms=occurred_at_ns // 1_000_000,
        thread_key=ThreadKey(f"thread-{thread}"),
        message_id=MessageId(f"{name}@customer.example"),
        parents=(MessageId(f"{thread}-{step - 1}@customer.example"),) if step else (),
        is_opening=step == 0,
        text=TEXT[:400],
        content_hash=f"hash of {name}",
        origin=Where(topic="inbound-events", partition=0, offset=thread),
    )


def _load(ground: Ground) -> None:
    producer = Producer(producer_config(ground.settings) | {"linger.ms": 20})
    topic = ground.name(Topic.THREAD_EVENTS)
    for number, event in enumerate(mails(EVENTS)):
        headers: list[tuple[str, str | bytes | None]] = [
            (RECEIVED_AT, b"%d" % event.received_at_ms)
        ]
        producer.produce(topic, key=event.inbox_id, value=to_json(event), headers=headers)
        if number % _PROGRESS == 0:
            producer.flush(DEADLINE_S)
    if producer.flush(DEADLINE_S):
        raise TimeoutError("the broker did not take the events in time")


def _measured(ground: Ground) -> Measured:
    program = Program(
        [sys.executable, "-m", "processors", "reorder"],
        log=ground.folder / "reorder.log",
        environ=ground.environ(),
    )
    try:
        with end_watch(ground, stage="reorder", topic=Topic.THREAD_EVENTS) as is_done:
            program.wait_until(is_done)
        program.stop()
    finally:
        program.kill()
    came: list[str] = []
    times_ms: list[int] = []
    for _, value, at_ms in read_all(ground.settings, ground.name(Topic.ORDERED_EVENTS)):
        came.append(ORDERED_EVENT.decode(value or b"").event.event_id.removeprefix("evt-"))
        times_ms.append(at_ms)
    if problem := problem_of(came, threads=EVENTS // LENGTH):
        return wrong(problem)
    rate = rate_of(times_ms, events=len(came))
    return Measured(figures={RATE: rate, PEAK_MIB: program.peak_mib})


def problem_of(came: list[str], *, threads: int) -> str:
    """What is wrong with these names of mails, each thread's in the order in which they came."""
    steps: dict[str, list[int]] = {}
    for name in came:
        thread, _, step = name.partition("-")
        steps.setdefault(thread, []).append(int(step))
    whole = list(range(LENGTH))
    bad = sum(found != whole for found in steps.values()) + abs(threads - len(steps))
    return f"WRONG: {bad} threads are not whole and in order" if bad else ""
