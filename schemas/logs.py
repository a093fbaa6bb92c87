"""One JSON line a log record, on stderr: time, level, process, event, then the record's fields.

Owns: the shape of a line, for machines and for who types a command, and which loggers speak.
May not: print an exception's own words. They often repeat the input, and no process logs a body,
a subject, an address or a secret; the class and the place of an exception say enough.
"""

import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Final, TextIO

# Ours speak from INFO up. Everyone else's (a client that prints each URL it calls, a framework
# that prints the value it failed on) speak from WARNING up.
OUR_LOGGERS: Final = ("ingest", "ops", "processors", "schemas")

# What every record carries by itself; the rest of its attributes are the fields of this line.
_ALWAYS: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
# Deep enough to show the way from a stage's loop into the call that failed.
_FRAMES: Final = 8


class JsonLines(logging.Formatter):
    """Formats for one process, whose name stands in each line."""

    def __init__(self, process: str) -> None:
        super().__init__()
        self._process = process

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line of ASCII JSON; a value that JSON does not know as its text."""
        at = datetime.fromtimestamp(record.created, UTC)
        line: dict[str, Any] = {
            "time": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "process": self._process,
            "event": record.getMessage(),
        }
        line |= _fields(record)
        if record.exc_info and record.exc_info[0] is not None:
            line["exception"] = record.exc_info[0].__name__
            line["at"] = _frames(record.exc_info[2])
        return json.dumps(line, default=str)


class PlainLines(logging.Formatter):
    """Formats for a person at a terminal: the event, then the fields that it has."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line; what an exception says by itself stays out of it."""
        told = " ".join(f"{name}={value}" for name, value in _fields(record).items())
        return f"{record.getMessage()}: {told}" if told else record.getMessage()


def setup_logging(process: str, stream: TextIO | None = None) -> None:
    """From here on every logger of this process writes JSON lines to `stream`, or to stderr.

    Safe to repeat: the last call counts.
    """
    _setup(JsonLines(process), stream)
    for name in OUR_LOGGERS:
        logging.getLogger(name).setLevel(logging.INFO)
    logging.captureWarnings(capture=True)


def setup_plain_logging(stream: TextIO | None = None) -> None:
    """From here on warnings are plain lines on `stream`, or on stderr. Safe to repeat."""
    _setup(PlainLines(), stream)


def _setup(lines: logging.Formatter, stream: TextIO | None) -> None:
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(lines)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    return {name: value for name, value in vars(record).items() if name not in _ALWAYS}


def _frames(where: TracebackType | None) -> list[str]:
    frames = traceback.extract_tb(where)[-_FRAMES:]
    return [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
