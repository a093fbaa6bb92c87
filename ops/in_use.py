"""Whether something works in this checkout's folders: asked before `make clean` removes them.

Owns: the sentence that names who is at work.
May not: remove or end anything, or import anything but the standard library.
Exit codes: 0 nothing is at work, 1 something is.
"""

import sys
from pathlib import Path
from typing import Final

from ops.kafka.process import find_process
from ops.run.lock import NAME, holder

ROOT: Final = Path(__file__).resolve().parents[1]


def at_work(root: Path) -> str:
    """Who works in the data folder, and how to end it; empty when nobody does."""
    data_dir = root / ".onereply"
    if (pid := holder(data_dir / NAME)) is not None:
        return f"OneReply runs in {data_dir} (process {pid}). Stop it with Ctrl-C first."
    for node in sorted((data_dir / "kafka" / "cluster").glob("node-*")):
        if (found := find_process(node)) is not None:
            command = ".venv/bin/onereply kafka stop"
            return f"Kafka runs in {data_dir} (process {found.pid}). Stop it with {command} first."
    if holder(data_dir / "setup.lock") is not None:
        return f"A setup is at work in {root}. Wait for its end first."
    return ""


def main() -> int:
    """Say who is at work, if anybody is."""
    sentence = at_work(ROOT)
    if sentence:
        sys.stderr.write(f"Nothing was removed. {sentence}\n")
    return 1 if sentence else 0


if __name__ == "__main__":
    sys.exit(main())
