import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from ops.kafka.ports import free_ports
from ops.kafka.process import until
from ops.run.folder import Folder, Running
from schemas.errors import Transient
from tests.architecture import ROOT
from tests.pages import Block, blocks
from tests.processes import clean_environ

RUN_DEADLINE_S = 120.0
COMMAND_DEADLINE_S = 90
DOOR = "http://127.0.0.1:8080"
BIN = Path(sys.executable).parent
# Short waits, in the relations that production has.
QUICK = {
    "ONEREPLY_DURABILITY": "single-node",
    "ONEREPLY_PARTITIONS": "2",
    "ONEREPLY_GRACE_MS": "100",
}
RUNNABLE = [block for block in blocks() if not block.needs and not block.make_targets]
MAKING = [block for block in blocks() if block.make_targets]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A running installation, and the environment in which a newcomer would look at it."""

    running: Running
    environ: dict[str, str]


@pytest.fixture(scope="module")
def place(broker: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """What `make run` starts, on ports of its own and the tests' broker."""
    folder = tmp_path_factory.mktemp("page")
    environ = clean_environ(
        **QUICK,
        ONEREPLY_BOOTSTRAP_SERVERS=broker,
        ONEREPLY_TOPIC_PREFIX=f"{folder.name}-",
        ONEREPLY_DATA_DIR=str(folder),
    )
    door, provider = free_ports(2)
    command = [
        str(BIN / "onereply"),
        "run",
        "--door-port",
        str(door),
        "--provider-port",
        str(provider),
    ]
    with (folder / "said").open("w") as said:
        process = subprocess.Popen(command, cwd=folder, env=environ, stdout=said, stderr=said)
    try:
        is_up = until(
            lambda: process.poll() is not None or found(folder) is not None,
            deadline_s=RUN_DEADLINE_S,
        )
        running = found(folder)
        assert is_up
        assert running is not None, (folder / "said").read_text(encoding="utf-8")
        yield Place(running=running, environ=environ)
    finally:
        process.terminate()
        process.wait(COMMAND_DEADLINE_S)


def found(folder: Path) -> Running | None:
    """Where the run of this folder listens, once it does."""
    try:
        return Folder(folder).running()
    except Transient:
        return None


def outcome(block: Block, place: Place) -> "subprocess.CompletedProcess[str]":
    """What a shell makes of the block, with our Python, ports and folder."""
    commands = block.commands.replace(".venv/bin/", f"{BIN}/").replace(DOOR, place.running.door)
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", commands],
        cwd=ROOT,
        env=place.environ | {"NO_COLOR": "1", "COLUMNS": "80"},
        capture_output=True,
        text=True,
        timeout=COMMAND_DEADLINE_S,
        check=False,
    )


def likeness(text: str) -> list[str]:
    """The text without what differs from run to run: numbers, made-up names, outer space."""
    masked = re.sub(r"ann@[0-9a-f]+\.", "ann@NAME.", text)
    masked = re.sub(r" *[0-9][0-9.]*", " N", masked)
    return [line.rstrip() for line in masked.strip().splitlines()]


def test_pages_show_commands() -> None:
    """A parser that finds no block would hold nothing."""
    assert {block.page for block in RUNNABLE} >= {"README.md", "docs/operations.md"}


@pytest.mark.parametrize("block", RUNNABLE, ids=lambda block: block.id)
def test_commands_do_what_the_page_shows(block: Block, place: Place) -> None:
    """The first command that fails is the last one that a newcomer types."""
    if "curl" in block.commands and shutil.which("curl") is None:
        pytest.skip("no curl here")

    result = outcome(block, place)

    assert result.returncode == 0, result.stderr
    if block.prints:
        assert likeness(result.stdout) == likeness(block.prints)


@pytest.mark.parametrize("block", MAKING, ids=lambda block: block.id)
def test_make_knows_every_target(block: Block) -> None:
    """What the targets run is run by other tests; here it counts that they are there."""
    command = ["make", "--dry-run", *block.make_targets]
    environ = {name: value for name, value in os.environ.items() if name != "MAKEFLAGS"}
    made = subprocess.run(
        command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False
    )

    assert made.returncode == 0, made.stderr


def test_block_that_is_not_run_says_what_it_needs() -> None:
    """A command that nobody has run must not look like the others."""
    assert {block.needs for block in blocks() if block.needs} == {
        "needs a container engine",
        "needs secrets and an onereply.toml of yours",
    }
