"""One process at a time in a folder.

Owns: the wait for another process, told once.
May not: outlive its process; the kernel drops the lock with it.
"""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ops.kafka.telling import Teller


@contextmanager
def alone(lock: Path, *, teller: Teller, work: str) -> Iterator[None]:
    """Hold the lock file's lock; when another process has it, say so and wait for its end."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            teller.say(f"Another process is at work ({work}): waiting for it.")
            fcntl.flock(held, fcntl.LOCK_EX)
        yield
