"""A writer that fills a template: `thread`, and nothing else, is known in it.

Owns: the built-in text, and the sandbox in which a template runs.
May not: quote a stranger's words by itself. Our mail would carry them on under our name.
"""

from pathlib import Path
from typing import Final

from jinja2 import StrictUndefined, TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from processors.writers.thread import Thread
from schemas.errors import SettingsError

BUILT_IN: Final = """\
Hello,

thank you for your message. We have received it and will answer as soon as we can.

This reply was sent automatically; you need not do anything.
"""


class TemplateWriter:
    """Writes every reply from one template."""

    def __init__(self, source: str) -> None:
        # Plain text goes out, so nothing is escaped as HTML.
        environment = ImmutableSandboxedEnvironment(
            undefined=StrictUndefined, autoescape=False
        )  # the reply is text/plain
        self._template = environment.from_string(source)

    async def __call__(self, thread: Thread) -> str:
        """The reply to this thread."""
        return self._template.render(thread=thread)


def template_writer(path: str) -> TemplateWriter:
    """The writer of the template in this file; of the built-in one when no file is named.

    Raises SettingsError.
    """
    try:
        source = Path(path).read_text(encoding="utf-8") if path else BUILT_IN
        return TemplateWriter(source)
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise _problem(f"{path} cannot be read: {why}") from error
    except TemplateError as error:
        raise _problem(f"{path} is not a template: {error}") from error


def _problem(sentence: str) -> SettingsError:
    return SettingsError([f"ONEREPLY_WRITER_TEMPLATE: {sentence}"])
