"""Room on the disk: one rule for the broker and for the parts of a run.

Kafka writes its indexes as memory. On a full disk such a write is not refused, it breaks off: the
broker ends in the middle of something, and each start on the full disk ends in the middle of
mending that. So nothing is started without room, and what runs is stopped while it can end well.

Owns: how much room a start takes, how much is kept, and the sentence about it.
May not: free any.
"""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

from ops.kafka.errors import DiskFull

# Jars and the cache for a quick start take 115 MB; the rest is for logs and stores to grow in
# before less than KEEP_MB is left, which would stop everything again at once.
START_MB: Final = 300
# What is in hand when everything is told to end: the stores' buffers of 16 MB, Kafka's snapshots
# and index files, and what comes in until the disk is looked at again.
KEEP_MB: Final = 100

Free = Callable[[Path], int]


def free_mb(folder: Path) -> int:
    """What is left for us on the disk that holds the folder."""
    return shutil.disk_usage(folder).free // 1_000_000


def full_sentence(folder: Path, *, free: int, needed_mb: int) -> str:
    """That there is no room, and how much there would have to be."""
    return f"The disk that holds {folder} is full ({free} MB free, {needed_mb} MB needed)."


def require_room(folder: Path, *, needed_mb: int = START_MB, free: Free = free_mb) -> None:
    """Return when the folder's disk has so much room. Raises DiskFull."""
    left_mb = free(folder)
    if left_mb < needed_mb:
        raise DiskFull(full_sentence(folder, free=left_mb, needed_mb=needed_mb))
