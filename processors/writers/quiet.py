"""Keeps the framework's loggers short: while a broker is away they say the same all the time.

Owns: how often one sentence of theirs may be repeated.
May not: touch what our own loggers say.
"""

import logging
import threading
from typing import Final

FRAMEWORK: Final = ("aiokafka", "faust", "mode", "asyncio")
# One line is enough to know what is wrong, and the next one to know that it still is.
REPEAT_AFTER_S: Final = 10.0
# Sentences remembered; some hold a number and never come again.
MOST_SENTENCES: Final = 256

LOG = logging.getLogger("processors.write")


class Seldom(logging.Filter):
    """Lets a sentence of the framework through once in ten seconds, whatever it is filled with."""

    def __init__(self) -> None:
        super().__init__()
        self._said_at_s: dict[tuple[str, str], float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether this line is written."""
        if record.name.partition(".")[0] not in FRAMEWORK:
            return True
        sentence = (record.name, str(record.msg))
        said_at_s = self._said_at_s.get(sentence)
        if said_at_s is not None and 0 <= record.created - said_at_s < REPEAT_AFTER_S:
            return False
        if len(self._said_at_s) >= MOST_SENTENCES:
            self._said_at_s.clear()
        self._said_at_s[sentence] = record.created
        return True


def quiet_framework() -> None:
    """From here on the framework repeats itself seldom, and its threads die in a log line.

    Safe to repeat.
    """
    for handler in logging.getLogger().handlers:
        if not any(isinstance(each, Seldom) for each in handler.filters):
            handler.addFilter(Seldom())
    threading.excepthook = _thread_failed


def _thread_failed(failed: threading.ExceptHookArgs) -> None:
    error = failed.exc_value
    LOG.error("thread failed", exc_info=error)
