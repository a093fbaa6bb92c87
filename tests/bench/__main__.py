"""`python -m tests.bench [NAME ...]`: measure, check what was measured, print a table.

EVENTS, MAILS (of latency), ROWS (of restore and memory) and REPEATS change the size of a run; JSON
names a file for the figures. Exit code 0: every row's result was right, whatever its speed.
"""

import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Final

from ops.kafka.broker import LocalKafka
from ops.kafka.telling import Lines
from schemas.logs import setup_plain_logging
from tests.bench.figures import Bench, machine, write_json
from tests.bench.tables import table
from tests.broker import DATA_DIR

# Name -> the module whose `bench()` it is, imported when it is asked for.
BENCHES: Final = {
    name: f"tests.bench.{name}"
    for name in ("dedupe", "latency", "reorder", "restore", "memory", "deciding")
}


def main(names: list[str]) -> int:
    """Run the named benches, or all."""
    if unknown := sorted(set(names) - set(BENCHES)):
        sys.stderr.write(f"no bench {', '.join(unknown)}; there is {', '.join(BENCHES)}\n")
        return 2
    setup_plain_logging()
    benches = [build(name) for name in names or BENCHES]
    # Told to stop, it leaves by the way that ends every process it has started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with (
        tempfile.TemporaryDirectory(prefix="onereply-bench-") as folder,
        _broker(Path(folder) / "kafka", benches) as servers,
    ):
        for bench in benches:
            say(f"{bench.name}: {bench.question}\n{bench.given}\n{machine()}\n")
            bench.run(servers, Path(folder), say)
            say(f"\n{table(bench)}\n")
    if path := os.environ.get("JSON"):
        write_json(Path(path), benches)
    return 0 if all(row.is_right for bench in benches for row in bench.rows.values()) else 1


def say(line: str) -> None:
    """One line for whoever waits."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


@contextmanager
def _broker(folder: Path, benches: Sequence[Bench]) -> Iterator[str]:
    given = os.environ.get("ONEREPLY_BOOTSTRAP_SERVERS", "")
    if given or not any(bench.needs_broker for bench in benches):
        yield given
        return
    kafka = LocalKafka(folder, install_dir=DATA_DIR, teller=Lines())
    kafka.is_steady = any(bench.is_long for bench in benches)
    with kafka:
        yield kafka.bootstrap_servers


def build(name: str) -> Bench:
    """The bench of that name, not yet run."""
    bench: Callable[[], Bench] = import_module(BENCHES[name]).bench
    return bench()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
