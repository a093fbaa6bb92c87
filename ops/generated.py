"""Files that are made from the code: written with no option, compared with --check.

Owns: the two ways in which such a module is run, and their exit codes.
May not: know what any file holds.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]

Files = Mapping[Path, str]


def stale_files(wanted: Files) -> list[Path]:
    """The files whose content on the disk is not the wanted one, missing ones among them."""
    return [path for path, text in wanted.items() if _content(path) != text]


def write_or_check(wanted: Files, arguments: Sequence[str], *, command: str) -> int:
    """Write the files, or with --check name those that differ; the exit code."""
    if [*arguments] not in ([], ["--check"]):
        sys.stderr.write(f"usage: {command} [--check]\n")
        return 2
    stale = stale_files(wanted)
    if not arguments:
        for path in stale:
            path.write_text(wanted[path], encoding="utf-8")
            print(f"{path.relative_to(ROOT)}: written")
        return 0
    for path in stale:
        print(f"{path.relative_to(ROOT)}: not what the code says; run {command}")
    return 1 if stale else 0


def _content(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
