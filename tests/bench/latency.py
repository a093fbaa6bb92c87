"""How long a mail takes from the door to the provider, and where the time goes.

Owns: the traffic, the rows, and the check that every mail was answered once.
May not: time what it cannot see: the broker's clock and this process's are one machine's.
"""

import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from threading import Event
from typing import Final

from tests.bench.costs import cpu_s, watched
from tests.bench.figures import MILLISECONDS, Bench, Column, Measured, Row, Say, quantiles
from tests.bench.hops import ACCEPTED, HOPS, SENT, hop_times, station_times
from tests.bench.one_hop import ALONE, SEEN, hop_alone
from tests.pipeline import STAGES, Mail, Pipeline, conversation, pipeline

MAILS: Final = int(os.environ.get("MAILS", "500"))
# At 50/s: until the broker's JVM has compiled what a mail needs, the figures fall.
RUNS: Final = int(os.environ.get("REPEATS", "4"))
RATE: Final = 50
# So slow that no mail waits for another: the floor. A fifth of the mails keeps it short.
SLOW_RATE: Final = 5
FIRST: Final = "latency_50_first"
LAST: Final = "latency_50_last"
SLOW: Final = "latency_5"
# The provider's clients that post at once: enough that none waits for the one before.
CLIENTS: Final = 8
COSTS: Final = ("kafka", "door", *STAGES, "standin")
CPU: Final = Column(figure="cpu_ms", title="CPU ms/mail", digits=1)
SHOWN: Final = (*MILLISECONDS, CPU)
DEADLINE_S: Final = 180.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What one run came to: the times of its mails, and what they cost."""

    mails: Sequence[str]
    whole: Measured
    hops: dict[str, list[float]]
    cpu_ms: dict[str, float]


def bench() -> Bench:
    """The bench, not yet run."""
    names = (FIRST, LAST, SLOW, *HOPS, *(f"cpu_{name}" for name in COSTS), ALONE, SEEN)
    rows = {name: Row() for name in names}

    def run(servers: str, folder: Path, say: Say) -> None:
        _whole_path(servers, folder / "latency", rows=rows, say=say)
        alone, seen = hop_alone(servers, folder / "hop", events=MAILS, per_second=RATE)
        rows[ALONE].runs.append(alone)
        rows[SEEN].runs.append(seen)

    return Bench(
        name="latency",
        is_long=False,
        question="milliseconds from the webhook's POST to the provider's acceptance",
        given=f"{MAILS} openings at {RATE}/s, {RUNS} times; then {_few()} at {SLOW_RATE}/s",
        columns=SHOWN,
        run=run,
        rows=rows,
    )


def _few() -> int:
    return max(MAILS // 5, 10)


def _whole_path(servers: str, folder: Path, *, rows: dict[str, Row], say: Say) -> None:
    folder.mkdir()
    with pipeline(servers, f"bench-{os.getpid()}-latency-", folder) as whole:
        runs = [_run(whole, f"r{number}", count=MAILS, per_second=RATE) for number in range(RUNS)]
        slow = _run(whole, "slow", count=_few(), per_second=SLOW_RATE)
    for number, each in enumerate(runs, 1):
        say(f"  run {number} at {RATE}/s: {_told(each.whole)}")
    rows[FIRST].runs.append(runs[0].whole)
    rows[LAST].runs.append(runs[-1].whole)
    rows[SLOW].runs.append(slow.whole)
    for hop, times in runs[-1].hops.items():
        rows[hop].runs.append(_timed(times, problem=""))
    for name, cost in runs[-1].cpu_ms.items():
        rows[f"cpu_{name}"].runs.append(Measured(figures={CPU.figure: cost}))


def _run(whole: Pipeline, name: str, *, count: int, per_second: float) -> Run:
    mails = conversation(name, threads=count, length=1)
    whole.know(mails)
    processes = watched(whole, whole.settings.bootstrap_servers)
    before, had = cpu_s(processes), whole.replies().total()
    sent_ms = _send(whole, mails, per_second=per_second)
    whole.await_mails(had + count, deadline_s=DEADLINE_S)
    after = cpu_s(processes)
    ids = [mail.identity[1].strip("<>") for mail in mails]
    times = station_times(whole.settings) | {SENT: sent_ms, ACCEPTED: _accepted_ms(whole)}
    totals = [times[ACCEPTED][each] - sent_ms[each] for each in ids if each in times[ACCEPTED]]
    cpu_ms = {name: (after[name] - before[name]) * 1000 / count for name in processes}
    timed = _timed(totals, problem=_problem(whole, mails))
    return Run(
        mails=ids,
        whole=Measured(
            figures={**timed.figures, CPU.figure: sum(cpu_ms.values())}, problem=timed.problem
        ),
        hops={hop: hop_times(times, ids, hop) for hop in HOPS},
        cpu_ms=cpu_ms,
    )


def _send(whole: Pipeline, mails: Sequence[Mail], *, per_second: float) -> dict[str, float]:
    """Deliver at that pace; when each delivery began."""
    pace, began_s = Event(), time.monotonic()

    def deliver(mail: Mail) -> float:
        at_ms = time.time() * 1000
        status = whole.deliver(mail)
        if status not in range(200, 300):
            raise AssertionError(f"the door answered {status}")
        return at_ms

    with ThreadPoolExecutor(CLIENTS) as clients:
        waiting = {}
        for number, mail in enumerate(mails):
            pace.wait(max(0.0, began_s + number / per_second - time.monotonic()))
            waiting[mail.identity[1].strip("<>")] = clients.submit(deliver, mail)
        return {name: future.result() for name, future in waiting.items()}


def _accepted_ms(whole: Pipeline) -> dict[str, float]:
    return {mail["in_reply_to"].strip("<>"): _ms(mail["accepted_at"]) for mail in whole.mailbox()}


def _ms(stamp: str) -> float:
    return datetime.fromisoformat(stamp).timestamp() * 1000


def _problem(whole: Pipeline, mails: Sequence[Mail]) -> str:
    replies = whole.replies()
    counts = [replies[mail.identity] for mail in mails]
    unanswered, twice = counts.count(0), sum(count > 1 for count in counts)
    return f"WRONG: {unanswered} unanswered, {twice} twice" if unanswered or twice else ""


def _timed(times_ms: Sequence[float], *, problem: str) -> Measured:
    if not times_ms:
        return Measured(figures={}, problem=problem or "WRONG: nothing came")
    return Measured(figures=quantiles(times_ms), problem=problem)


def _told(measured: Measured) -> str:
    words = (f"{column.title} {measured.figures.get(column.figure, 0):,.0f}" for column in SHOWN)
    return measured.problem or ", ".join(words)
