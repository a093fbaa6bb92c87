import asyncio
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from processors.writers.loading import load_writer
from processors.writers.thread import thread_of
from schemas.errors import SettingsError
from schemas.settings import load_settings
from tests.writing import a_request, an_event

MODULE = """
import functools

async def write(thread):
    return thread.message.text.upper()

def plain(thread):
    return "hi"

class Agent:
    async def __call__(self, thread):
        return "from an object"

    async def write(self, thread):
        return "from a method"

agent = Agent()
partial = functools.partial(write)
number = 7
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder in which the user stands, with modules of theirs in it."""
    (tmp_path / "own_writer.py").write_text(MODULE, encoding="utf-8")
    (tmp_path / "own_broken.py").write_text("import json\n\n1 / 0\n", encoding="utf-8")
    (tmp_path / "own_needy.py").write_text("import no_such_package\n", encoding="utf-8")
    (tmp_path / "own_typo.py").write_text("async def write(thread)\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("own_")]:
        del sys.modules[name]


def reply_of(writer: str) -> object:
    """What the writer of this name says to a mail."""
    write = load_writer(load_settings(writer=writer))

    async def call() -> object:
        return await write(thread_of(a_request(event=an_event(text="hello"))))

    return asyncio.run(call())


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("writer", "reply"),
    [
        ("own_writer:write", "HELLO"),
        ("own_writer:agent", "from an object"),
        ("own_writer:agent.write", "from a method"),
        ("own_writer:partial", "HELLO"),
    ],
)
def test_a_writer_is_found_by_module_and_function(writer: str, reply: str) -> None:
    """It lies where the user stands, and may be anything that is called and awaited."""
    assert reply_of(writer) == reply


def test_the_example_writer_answers() -> None:
    """What the examples show is what runs."""
    assert reply_of("examples.echo_writer:write") == "You wrote 5 characters, message 1."


UNUSABLE = {
    "no function": ("own_writer", "'own_writer' is neither template nor module:function"),
    "no module": (":write", "':write' is neither template nor module:function"),
    "nothing": ("", "'' is neither template nor module:function"),
    "a module that is not there": (
        "own_absent:write",
        r"module own_absent cannot be imported: ModuleNotFoundError: No module named 'own_absent'",
    ),
    "a module that needs another": (
        "own_needy:write",
        r"module own_needy cannot be imported \(.*own_needy.py:1\): ModuleNotFoundError: .*",
    ),
    "a module that fails": (
        "own_broken:write",
        r"module own_broken cannot be imported \(.*own_broken.py:3\): ZeroDivisionError: .*",
    ),
    "a module with a typo": (
        "own_typo:write",
        r"module own_typo cannot be imported: SyntaxError: .*own_typo.py, line 1.*",
    ),
    "a relative module": (
        ".own:write",
        r"module .own cannot be imported: TypeError: .*",
    ),
    "a function that is not there": ("own_writer:wrote", "module own_writer has no wrote"),
    "a method that is not there": ("own_writer:agent.say", "module own_writer has no agent.say"),
    "a function that is not async": (
        "own_writer:plain",
        "own_writer:plain is not a coroutine function: write `async def plain`",
    ),
    "a number": (
        "own_writer:number",
        "own_writer:number is not a coroutine function: write `async def number`",
    ),
}


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("writer", "sentence"), UNUSABLE.values(), ids=UNUSABLE.keys())
def test_a_writer_that_cannot_be_used_is_one_sentence(writer: str, sentence: str) -> None:
    """The developer learns at the start what to mend, not from the first customer."""
    with pytest.raises(SettingsError) as refused:
        load_writer(load_settings(writer=writer))

    assert re.fullmatch(f"ONEREPLY_WRITER: {sentence}", str(refused.value)), str(refused.value)


@pytest.mark.usefixtures("folder")
def test_loading_twice_leaves_the_path_as_it_is() -> None:
    """The user's folder is looked into once, however often."""
    load_writer(load_settings(writer="own_writer:write"))
    before = list(sys.path)

    load_writer(load_settings(writer="own_writer:write"))

    assert sys.path == before
