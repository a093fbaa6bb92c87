"""How a command ends when it cannot do its work: one sentence and an exit code.

Owns: which error means which code.
May not: hide a bug; what is not named here ends with a traceback.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import click

from ops.kafka.errors import plain_words
from schemas.errors import OneReplyError, SettingsError, Transient

FAILED: Final = 1
SETTINGS: Final = 2
AWAY: Final = 3


class Ended(click.ClickException):
    """A command's last sentence, with its exit code."""

    def __init__(self, sentence: str, code: int) -> None:
        super().__init__(sentence)
        self.exit_code = code


@contextmanager
def one_sentence(folder: Path) -> Iterator[None]:
    """Turn what OneReply names, and refusals of the disk under `folder`, into the command's end."""
    try:
        with plain_words(folder):
            yield
    except OneReplyError as error:
        raise Ended(str(error), code_of(error)) from error


def code_of(error: OneReplyError) -> int:
    """2 for settings to mend, 3 for what is away, 1 for all else."""
    if isinstance(error, SettingsError):
        return SETTINGS
    return AWAY if isinstance(error, Transient) else FAILED
