"""How long a worker takes to be live when its stores are gone.

Owns: the rows: a start with nothing to restore, and one with all of it.
May not: begin before the changelog is whole.
"""

import os
import sys
import time
from pathlib import Path
from typing import Final

from tests.bench.changelog import STAGE, fill, keys_in, stores
from tests.bench.figures import PEAK_MIB, RATE, Bench, Column, Measured, Row, Say, wrong
from tests.bench.ground import Ground, new_ground
from tests.bench.running import Program

ROWS: Final = int(os.environ.get("ROWS", "1000000"))
EMPTY: Final = "restore_nothing"
FULL: Final = "restore_rows"
SECONDS: Final = "seconds"
COLUMNS: Final = (
    Column(figure=SECONDS, title="seconds to live", digits=1),
    Column(figure=RATE, title="rows/s"),
    Column(figure=PEAK_MIB, title="peak MiB"),
)


def bench() -> Bench:
    """The bench, not yet run."""
    rows = {EMPTY: Row(), FULL: Row()}

    def run(servers: str, folder: Path, say: Say) -> None:
        for name, count in ((EMPTY, 0), (FULL, ROWS)):
            ground = new_ground(servers, folder / name.replace("_", "-"))
            fill(ground, count)
            say(f"  {name}: {count:,} rows are in the changelog")
            rows[name].runs.append(_restored(ground, count))

    return Bench(
        name="restore",
        question="seconds from a worker's start until it is live, its stores gone",
        given=f"{ROWS:,} rows of dedupe in the changelog, one worker",
        columns=COLUMNS,
        run=run,
        rows=rows,
    )


def _restored(ground: Ground, count: int) -> Measured:
    program = started(ground)
    began_s = time.monotonic()
    try:
        program.wait_until(lambda: program.has_said("stage live"))
        took_s = time.monotonic() - began_s
        program.stop()
    finally:
        program.kill()
    found = sum(keys_in(folder)[0] for folder in stores(ground))
    if found != count:
        return wrong(f"WRONG: {found:,} of {count:,} rows were restored")
    return Measured(figures={SECONDS: took_s, RATE: count / took_s, PEAK_MIB: program.peak_mib})


def started(ground: Ground) -> Program:
    """DEDUPE, started."""
    return Program(
        [sys.executable, "-m", "processors", STAGE],
        log=ground.folder / f"{STAGE}.log",
        environ=ground.environ(),
    )
