"""The lock of a data folder: the kernel's, with the holder's pid in the file.

Owns: taking it, and reading who has it.
May not: import anything but the standard library; an environment that is broken is cleaned, too.
"""

import fcntl
from pathlib import Path
from typing import Final, TextIO

NAME: Final = "run.lock"


def taken(lock: TextIO) -> str | None:
    """Take the lock and say whom its file names; None when somebody holds it."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return None
    return owner(lock)


def owner(lock: TextIO) -> str:
    """The pid that the file names; empty when its last holder ended well."""
    lock.seek(0)
    return lock.read().strip()


def holder(path: Path) -> str | None:
    """The pid of who holds this lock at the moment; None when nobody does."""
    try:
        with path.open("r", encoding="ascii") as lock:
            return owner(lock) if taken(lock) is None else None
    except FileNotFoundError:
        return None
