import fcntl
from pathlib import Path

import pytest

from ops.in_use import at_work
from ops.run.folder import Folder


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """The data folder of a checkout."""
    folder = tmp_path / ".onereply"
    folder.mkdir()
    return folder


def test_checkout_in_which_nothing_works_may_be_cleaned(tmp_path: Path) -> None:
    """Also one that was never set up."""
    assert at_work(tmp_path) == ""


def test_run_that_is_up_is_named_with_its_process(data_dir: Path) -> None:
    """Its data would go away below it."""
    with Folder(data_dir).alone():
        told = at_work(data_dir.parent)

    pid = told.partition("(process ")[2].partition(")")[0]
    assert told == f"OneReply runs in {data_dir} (process {pid}). Stop it with Ctrl-C first."
    assert pid.isdecimal()


def test_run_that_was_killed_hinders_nobody(data_dir: Path) -> None:
    """The kernel drops its lock; its pid may be somebody else's by now."""
    (data_dir / "run.lock").write_text("1\n")

    assert at_work(data_dir.parent) == ""


def test_setup_at_work_is_waited_for(data_dir: Path) -> None:
    """Half of an environment would be left."""
    with (data_dir / "setup.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        told = at_work(data_dir.parent)

    assert told == f"A setup is at work in {data_dir.parent}. Wait for its end first."
