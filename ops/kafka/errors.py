"""What can keep the local broker from running, and the sentence that says so.

Owns: the errors of this package and the wording for a full disk and for missing rights.
May not: start, stop or download anything.
"""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from schemas.errors import Permanent, Transient

DISK_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
NO_RIGHT: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})


class BrokerAway(Transient):
    """The local broker cannot run now: a port, the network, the disk, a right or Java."""


class DiskFull(BrokerAway):
    """The disk has too little room for the broker to start or to go on."""


class AlreadyRunning(BrokerAway):
    """The folder's cluster runs, whoever started it."""


class JarRefused(Permanent):
    """A jar whose SHA-256 is not the one that the lock file names."""


class ClusterRefused(Permanent):
    """The folder holds another cluster than the one that is asked for."""


@contextmanager
def plain_words(folder: Path) -> Iterator[None]:
    """Turn a refusal of the operating system under `folder` into one sentence (BrokerAway)."""
    try:
        yield
    except OSError as error:
        kind = DiskFull if error.errno in DISK_FULL else BrokerAway
        raise kind(_sentence(error, folder)) from error


def _sentence(error: OSError, folder: Path) -> str:
    where = error.filename or folder
    if error.errno in DISK_FULL:
        return f"The disk that holds {folder} is full: free some space and start again."
    if error.errno in NO_RIGHT:
        return f"No right to write {where}: name another folder with --data-dir."
    return f"{error.strerror or error}: {where}"
