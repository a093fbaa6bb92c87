import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ops import find_python

SOURCE = Path(find_python.__file__).read_text(encoding="utf-8")
DEADLINE_S = 20.0


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A checkout whose bootstrap says that it was reached, and for which this Python is too old."""
    (tmp_path / "ops").mkdir()
    (tmp_path / "ops" / "find_python.py").write_text(SOURCE.replace("(3, 11)", "(3, 99)"))
    (tmp_path / "ops" / "bootstrap.py").write_text("print('bootstrap')")
    return tmp_path


def run(root: Path) -> "subprocess.CompletedProcess[str]":
    """What make does first."""
    return subprocess.run(
        [sys.executable, root / "ops" / "find_python.py"],
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
        timeout=DEADLINE_S,
    )


def test_old_python_can_read_the_script() -> None:
    """A syntax error is no answer to somebody whose Python is too old."""
    assert ast.parse(SOURCE, feature_version=(3, 6)).body


def test_python_that_is_too_old_says_what_to_type(root: Path) -> None:
    """The advice must hold for the next command, too."""
    told = run(root)

    first, second = told.stderr.splitlines()
    assert (told.returncode, told.stdout) == (1, "")
    assert "make setup PYTHON=python3." in first
    assert second == "After that, plain make commands use .venv's own."


def test_environment_that_a_newer_python_made_is_used(root: Path) -> None:
    """Who named a newer one once need not name it each time."""
    scripts = root / ".venv" / "bin"
    scripts.mkdir(parents=True)
    (scripts / "python").write_text(f"#!/bin/sh\necho found; exec {sys.executable} --version\n")
    (scripts / "python").chmod(0o755)

    told = run(root)

    assert (told.returncode, told.stdout.splitlines()[0]) == (0, "found")


def test_python_that_is_new_enough_goes_on(root: Path) -> None:
    """The normal case."""
    (root / "ops" / "find_python.py").write_text(SOURCE)

    assert run(root).stdout == "bootstrap\n"
