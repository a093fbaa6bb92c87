"""What a worker with many rows needs: memory while it works, disk for each key.

Owns: the stores' files, compacted, and what of them is not the keys themselves.
May not: measure a worker at rest: events come in before it is looked at.
"""

import os
from pathlib import Path
from typing import Final

from rocksdict import Rdict

from processors.runtime.store import StoreCache
from schemas.topics import Topic
from tests.bench.changelog import STAGE, fill, keys_in, stores
from tests.bench.events import load, plan
from tests.bench.figures import PEAK_MIB, Bench, Column, Measured, Row, Say
from tests.bench.ground import Ground, end_watch, new_ground
from tests.bench.restore import started

ROWS: Final = int(os.environ.get("ROWS", "5000000"))
EVENTS: Final = int(os.environ.get("EVENTS", "50000"))
PARTITIONS: Final = 12
NAME: Final = "memory_worker"
COLUMNS: Final = (
    Column(figure=PEAK_MIB, title="peak MiB"),
    Column(figure="restored_mib", title="restored MiB"),
    Column(figure="working_mib", title="working MiB"),
    Column(figure="bytes_a_key", title="bytes a key beyond it", digits=1),
    Column(figure="found_bytes_a_key", title="before compaction", digits=1),
)


def bench() -> Bench:
    """The bench, not yet run."""
    rows = {NAME: Row()}

    def run(servers: str, folder: Path, say: Say) -> None:
        ground = new_ground(servers, folder / "memory", partitions=PARTITIONS)
        fill(ground, ROWS)
        say(f"  {ROWS:,} rows are in the changelog")
        figures = _worked(ground, say)
        rows[NAME].runs.append(_with_disk(ground, figures))

    return Bench(
        name="memory",
        question="resident memory of a worker, and bytes on disk for each dedupe key",
        given=f"{PARTITIONS} partitions, {ROWS:,} rows restored, then {EVENTS:,} events",
        columns=COLUMNS,
        run=run,
        rows=rows,
    )


def _worked(ground: Ground, say: Say) -> dict[str, float]:
    """What the worker was seen with: restored, and after it has worked."""
    program = started(ground)
    try:
        program.wait_until(lambda: program.has_said("stage live"))
        restored = program.resident_mib()
        say(f"  restored: {restored:,.0f} MiB resident")
        load(ground.settings, plan(EVENTS))
        with end_watch(ground, stage=STAGE, topic=Topic.INBOUND_EVENTS) as is_done:
            program.wait_until(is_done)
        working = program.resident_mib()
        program.stop()
    finally:
        program.kill()
    return {"restored_mib": restored, "working_mib": working, PEAK_MIB: program.peak_mib}


def _with_disk(ground: Ground, figures: dict[str, float]) -> Measured:
    folders = stores(ground)
    found_bytes = _size(folders)
    for folder in folders:
        _compact(folder)
    compact_bytes = _size(folders)
    each = [keys_in(folder) for folder in folders]
    count, key_bytes = (sum(numbers) for numbers in zip(*each, strict=True))
    wanted = ROWS + len(plan(EVENTS).unique)
    problem = "" if count == wanted else f"WRONG: {count:,} of {wanted:,} rows"
    return Measured(
        figures=figures
        | {
            "bytes_a_key": (compact_bytes - key_bytes) / max(count, 1),
            "found_bytes_a_key": (found_bytes - key_bytes) / max(count, 1),
        },
        problem=problem,
    )


def _compact(folder: Path) -> None:
    database = Rdict(str(folder), StoreCache(64 * 1024 * 1024).options())
    database.flush()
    database.compact_range(None, None)
    database.close()


def _size(folders: list[Path]) -> int:
    files = (file for folder in folders for file in folder.rglob("*"))
    return sum(file.stat().st_size for file in files if file.is_file())
