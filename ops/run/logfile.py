"""A part's log file, bounded: the newest lines stay.

Owns: the size at which a file is set aside, and how many are kept.
May not: hold up a part. A line that cannot be written is dropped, and counted.
"""

from pathlib import Path
from typing import IO, Final

# A day of a quiet installation; the eight parts together take at most 100 MB.
FILE_BYTES: Final = 4 * 1024 * 1024
OLDER_FILES: Final = 2


class LogFile:
    """Lines of one part. Opened when the first one comes."""

    def __init__(self, path: Path, *, file_bytes: int = FILE_BYTES) -> None:
        self.path = path
        self.dropped = 0
        self._file_bytes = file_bytes
        self._file: IO[bytes] | None = None
        self._size = 0

    def write(self, line: bytes) -> None:
        """Append a line, its end included."""
        try:
            file = self._ready(len(line))
            file.write(line)
            file.flush()
        except OSError:
            self.dropped += 1
            self.close()
        else:
            self._size += len(line)

    def close(self) -> None:
        """Let go of the file; the next line opens it again."""
        file, self._file = self._file, None
        if file is None:
            return
        try:
            file.close()
        except OSError:
            self.dropped += 1

    def _ready(self, size: int) -> IO[bytes]:
        if self._file is not None and self._size + size > self._file_bytes:
            self.close()
        if self._file is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if self.path.exists() and self.path.stat().st_size + size > self._file_bytes:
                self._set_aside()
            self._file = self.path.open("ab")
            self._size = self._file.tell()
        return self._file

    def _set_aside(self) -> None:
        for number in range(OLDER_FILES, 0, -1):
            newer = self._numbered(number - 1)
            if newer.exists():
                newer.replace(self._numbered(number))

    def _numbered(self, number: int) -> Path:
        return self.path.with_name(f"{self.path.name}.{number}") if number else self.path
