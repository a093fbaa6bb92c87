"""The state file: one JSON line a change, in the system's hands before the change is answered.

Owns: appending, reading back, and the line that a kill cut short.
May not: interpret an entry. A process that is killed loses nothing; a machine that loses power may,
since lines are handed to the system and not forced to the disk.
"""

import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Protocol

import msgspec

from ops.standin.entries import Entry, Reset

_ENCODER: Final = msgspec.json.Encoder()


class StateFileError(Exception):
    """A state file that cannot be used. The sentence says what to do."""


class StateFileFull(Exception):
    """An entry that could not be written. The file is as it was before."""


class Journal(Protocol):
    """Where entries are kept."""

    def append(self, entry: Entry) -> None:
        """Return once the entry survives the process."""

    def close(self) -> None:
        """Let go of the file."""


class NoJournal:
    """Keeps nothing: state lives and dies with the process."""

    def append(self, entry: Entry) -> None:
        """Nothing survives, and nobody asked for it."""

    def close(self) -> None:
        """There is nothing to let go of."""


class FileJournal:
    """An append-only file of entries, held by one process at a time."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._file = path.open("ab", buffering=0)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._file.close()
            raise StateFileError(f"{path} is in use: stop the other stand-in first") from error

    def entries(self) -> Iterator[Entry]:
        """Every entry so far. Cuts off a last line that has no end: nobody was told of it."""
        decoder: msgspec.json.Decoder[Entry] = msgspec.json.Decoder(Entry)
        with self._path.open("rb") as lines:
            whole = 0
            for number, line in enumerate(lines, start=1):
                if not line.endswith(b"\n"):
                    break
                yield self._decoded(decoder, line, number=number)
                whole += len(line)
        self._file.truncate(whole)

    def append(self, entry: Entry) -> None:
        """Return once the system has the whole line. Raises StateFileFull and keeps no part.

        A reset empties the file: nothing before it counts, and so the file cannot grow for ever.
        """
        if isinstance(entry, Reset):
            self._file.truncate(0)
            return
        line = _ENCODER.encode(entry) + b"\n"
        before = os.fstat(self._file.fileno()).st_size
        try:
            written = self._file.write(line)
        except OSError as error:
            self._file.truncate(before)
            raise StateFileFull(str(error)) from error
        if written != len(line):
            self._file.truncate(before)
            raise StateFileFull("the disk took only a part of the line")

    def close(self) -> None:
        """Release the file for the next process."""
        self._file.close()

    def _decoded(
        self, decoder: "msgspec.json.Decoder[Entry]", line: bytes, *, number: int
    ) -> Entry:
        try:
            return decoder.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise StateFileError(
                f"{self._path} line {number} is not an entry ({error}): remove it to start anew"
            ) from error
