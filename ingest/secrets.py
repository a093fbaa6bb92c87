"""Secrets of a source: from variables, or from files that may change while the door is open.

Owns: the `_FILE` twin, and noticing that a file was replaced.
May not: print, log or keep a secret anywhere but in the verifier made from it.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from schemas.errors import OneReplyError

FILE_SUFFIX: Final = "_FILE"
# A webhook's secret has under a hundred bytes; more is some other file.
MAX_SECRET_BYTES: Final = 4096

Fingerprint = tuple[tuple[int, int, int], ...]


class SecretProblem(OneReplyError):
    """A secret that cannot be had, named by its variable, with what to do."""


class Secrets:
    """The secrets that some variables name, in their order."""

    def __init__(self, names: Sequence[str], environ: Mapping[str, str]) -> None:
        self._names = tuple(names)
        self._environ = environ

    def problems(self) -> list[str]:
        """One line for each variable whose secret cannot be had; empty when all can."""
        found = []
        for name in self._names:
            try:
                self._read_one(name)
            except SecretProblem as problem:
                found.append(str(problem))
        return found

    def read(self) -> tuple[tuple[str, str], ...]:
        """Each variable with its secret as it is now. Raises SecretProblem."""
        return tuple((name, self._read_one(name)) for name in self._names)

    def fingerprint(self) -> Fingerprint:
        """Differs whenever a file was replaced or rewritten; empty when no secret is in a file.

        Raises SecretProblem when a file is not there.
        """
        files = [self._file(name) for name in self._names]
        try:
            seen = [path.stat() for path in files if path is not None]
        except OSError as error:
            raise SecretProblem(f"a secret's file cannot be read: {error.strerror}") from error
        return tuple((each.st_mtime_ns, each.st_size, each.st_ino) for each in seen)

    def _file(self, name: str) -> Path | None:
        path = self._environ.get(name + FILE_SUFFIX, "")
        return Path(path) if path else None

    def _read_one(self, name: str) -> str:
        path, value = self._file(name), self._environ.get(name)
        if path is not None and value is not None:
            raise SecretProblem(f"{name} and {name}{FILE_SUFFIX} are both set: set one of them")
        if path is not None:
            return _content(name, path)
        if value is None:
            raise SecretProblem(
                f"{name} is not set: copy the secret from the webhook's page into it, or set "
                f"{name}{FILE_SUFFIX} to a file that holds it"
            )
        return value


def _content(name: str, path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_SECRET_BYTES + 1)
        if len(content) > MAX_SECRET_BYTES:
            raise SecretProblem(f"{name}{FILE_SUFFIX}: {path} is too long to be a secret")
        return content.decode()
    except (OSError, UnicodeDecodeError) as error:
        why = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else "not text"
        raise SecretProblem(f"{name}{FILE_SUFFIX}: {path} cannot be read: {why}") from error
