"""What a person sees of long work: lines that stay, and below them how far it is.

Owns: rich, for progress; a terminal gets a line that moves, anything else gets few plain lines.
May not: know what the work is.
"""

import sys
from types import TracebackType
from typing import Self, TextIO

from rich.console import Console
from rich.status import Status

from ops.kafka.telling import Lines


class Screen:
    """A teller on standard error; what is asked for goes to standard output, by `result`."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._console = Console(file=stream or sys.stderr, highlight=False, markup=False)
        self._lines = Lines(stream or sys.stderr)
        self._status: Status | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.calm()

    def say(self, sentence: str) -> None:
        """Write a line of its own, whole: a terminal wraps it, a file does not.

        What was under way before it is over: the moving line goes.
        """
        self.calm()
        self._console.print(sentence, soft_wrap=True)

    def show(self, state: str) -> None:
        """Tell how far the work is; the next telling takes its place."""
        if not self._console.is_terminal:
            self._lines.show(state)
        elif self._status is None:
            self._status = Status(state, console=self._console, spinner="line")
            self._status.start()
        else:
            self._status.update(state)

    def calm(self) -> None:
        """Nothing is under way: the moving line goes."""
        status, self._status = self._status, None
        if status is not None:
            status.stop()
