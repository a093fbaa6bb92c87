"""Finds the writer that the settings name.

Owns: the sentences for a writer that cannot be used.
May not: call it.
"""

import inspect
import sys
from collections.abc import Awaitable, Callable
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from processors.writers.drafts import Draft
from processors.writers.template import template_writer
from processors.writers.thread import Thread
from schemas.errors import SettingsError
from schemas.settings import Settings

Writer = Callable[[Thread], Awaitable[str | Draft]]

TEMPLATE: Final = "template"


def load_writer(settings: Settings) -> Writer:
    """The writer of ONEREPLY_WRITER, ready to be called. Raises SettingsError."""
    if settings.writer == TEMPLATE:
        return template_writer(settings.writer_template)
    return _named(settings.writer)


def _named(name: str) -> Writer:
    module_name, _, function_name = name.partition(":")
    if not module_name or not function_name:
        raise _problem(f"{name!r} is neither template nor module:function")
    found: Any = _imported(module_name)
    for part in function_name.split("."):
        found = getattr(found, part, None)
    if found is None:
        raise _problem(f"module {module_name} has no {function_name}")
    if not _is_coroutine_function(found):
        raise _problem(f"{name} is not a coroutine function: write `async def {function_name}`")
    writer: Writer = found
    return writer


def _imported(module_name: str) -> object:
    # A user's module lies where the user stands, however this process was started.
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return import_module(module_name)
    except Exception as error:
        place = _last_line(error)
        raise _problem(f"module {module_name} cannot be imported{place}: {_said(error)}") from error


def _is_coroutine_function(found: object) -> bool:
    return inspect.iscoroutinefunction(found) or inspect.iscoroutinefunction(
        getattr(found, "__call__", None)  # noqa: B004  # an object with an async __call__ is a writer too
    )


def _last_line(error: Exception) -> str:
    """Where in the user's code the import failed, if it was there."""
    frames = inspect.getinnerframes(error.__traceback__) if error.__traceback__ else []
    outside = [frame for frame in frames if "importlib" not in frame.filename]
    last = outside[-1] if outside else None
    is_ours = last is None or last.filename == __file__
    return "" if last is None or is_ours else f" ({last.filename}:{last.lineno})"


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _problem(sentence: str) -> SettingsError:
    return SettingsError([f"ONEREPLY_WRITER: {sentence}"])
