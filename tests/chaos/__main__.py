"""`python -m tests.chaos`: kill, pause and restart everything under load, and count.

KILLS is how many kills, SEED repeats a run, JSON names a file for the figures. Exit code 0: every
message is told and answered exactly once.
"""

import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

import httpx

from ops.kafka.cluster import cluster_folder
from ops.kafka.errors import BrokerAway
from tests.chaos.plan import plan
from tests.chaos.run import Stalled, run
from tests.chaos.verdict import table

KILLS: Final = 40
# A deadline that passed, a broker that did not come back, a process that did not end.
NOT_COUNTED: Final = (
    AssertionError,
    Stalled,
    BrokerAway,
    httpx.HTTPError,
    subprocess.TimeoutExpired,
)


def main() -> int:
    """One run, as the environment asks for it."""
    kills = int(os.environ.get("KILLS") or KILLS)
    seed = int(os.environ.get("SEED") or secrets.randbelow(1_000_000))
    folder = Path(tempfile.mkdtemp(prefix=f"onereply-chaos-{seed}-"))
    # Told to stop, it leaves by the way that ends every process it has started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    again = f"make chaos KILLS={kills} SEED={seed}"
    say(f"{again}\nlogs: {folder}\n")
    try:
        outcome = run(plan(seed, kills), folder, say)
    except NOT_COUNTED as error:
        say(f"\n{type(error).__name__}: {error}\n\nnot counted: {again}\nlogs: {folder}")
        return 1
    say(f"\n{table(outcome)}\n\n{outcome.seconds:.0f} s; {again}\nlogs: {folder}")
    if path := os.environ.get("JSON"):
        Path(path).write_text(json.dumps(outcome.as_json(), indent=2) + "\n", encoding="utf-8")
    if not outcome.is_right:
        return 1
    shutil.rmtree(folder / "data")
    for data in cluster_folder(folder).glob("node-*/data"):
        shutil.rmtree(data)
    return 0


def say(line: str) -> None:
    """One line for whoever waits."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
