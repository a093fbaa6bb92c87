"""How long work is told to whoever waits for it.

Owns: the choice between a line that rewrites itself (a terminal) and few plain lines (a file).
May not: know what the work is.
"""

import sys
import time
from typing import Final, Protocol, TextIO

# Seldom enough for a log file, often enough to see that it is alive.
PLAIN_INTERVAL_S: Final = 2.0


class Teller(Protocol):
    """Who hears about the work."""

    def say(self, sentence: str) -> None:
        """Tell a step, for good."""

    def show(self, state: str) -> None:
        """Tell how far the step is; the next telling takes its place."""

    def calm(self) -> None:
        """Nothing is under way any more."""


class Silence:
    """A teller that tells nobody."""

    def say(self, sentence: str) -> None:
        """Drop the sentence."""

    def show(self, state: str) -> None:
        """Drop the state."""

    def calm(self) -> None:
        """There is nothing to take back."""


class Lines:
    """A teller that writes to a stream, by default to standard error."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._is_terminal = self._stream.isatty()
        self._is_open = False
        self._shown_at = time.monotonic()

    def say(self, sentence: str) -> None:
        """Write a line of its own."""
        self.calm()
        print(sentence, file=self._stream, flush=True)

    def show(self, state: str) -> None:
        """Rewrite the last line on a terminal; elsewhere write a line every two seconds."""
        now = time.monotonic()
        if self._is_terminal:
            print(f"\r\x1b[K  {state}", end="", file=self._stream, flush=True)
            self._is_open = True
        elif now - self._shown_at >= PLAIN_INTERVAL_S:
            self._shown_at = now
            print(f"  {state}", file=self._stream, flush=True)

    def calm(self) -> None:
        """Take the moving line back."""
        if self._is_open:
            print("\r\x1b[K", end="", file=self._stream)
            self._is_open = False
