import stat
from pathlib import Path

import pytest

from ops.run.folder import End, Folder, Running
from schemas.errors import Transient

RUNNING = Running(
    pid=1,
    door="http://127.0.0.1:8080",
    provider="http://127.0.0.1:8090",
    bootstrap_servers="127.0.0.1:9092",
    topic_prefix="",
    partitions=4,
    inboxes={"support@example.com": "send"},
)


def test_secrets_are_made_once_and_only_the_owner_reads_them(tmp_path: Path) -> None:
    """Everyone on the machine can list processes and read world-readable files."""
    made = Folder(tmp_path).secrets()

    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert modes == {"secrets.json": 0o600}
    assert Folder(tmp_path).secrets() == made


def test_secrets_of_two_folders_differ(tmp_path: Path) -> None:
    """A secret that is the same everywhere is none."""
    one, other = Folder(tmp_path / "one"), Folder(tmp_path / "other")
    for folder in (one, other):
        folder.data_dir.mkdir()

    assert one.secrets() != other.secrets()


def test_broken_secrets_are_made_anew(tmp_path: Path) -> None:
    """A full disk may leave half a file, and nobody would know what to do with it."""
    (tmp_path / "secrets.json").write_text("{")

    assert Folder(tmp_path).secrets().api_key.startswith("am_")


def test_second_run_in_a_folder_is_refused_with_the_first_ones_process(tmp_path: Path) -> None:
    """Two sets of stages under one name would throw each other out for ever."""
    with Folder(tmp_path).alone(), pytest.raises(Transient, match=r"already \(process \d+\)"):  # noqa: SIM117  # the second is what is tried
        with Folder(tmp_path).alone():
            pass


def test_run_after_a_clean_end_knows_it(tmp_path: Path) -> None:
    """There is nothing to wait for then."""
    with Folder(tmp_path).alone():
        pass

    with Folder(tmp_path).alone() as last_end:
        assert last_end is End.CLEAN


def test_run_after_a_kill_knows_it(tmp_path: Path) -> None:
    """Its Kafka may still be on its way out."""
    (tmp_path / "run.lock").write_text("4711\n")

    with Folder(tmp_path).alone() as last_end:
        assert last_end is End.KILLED


def test_other_terminals_learn_where_a_run_listens(tmp_path: Path) -> None:
    """send-test knows no ports."""
    folder = Folder(tmp_path)

    with folder.alone():
        folder.tell_running(RUNNING)
        assert Folder(tmp_path).running() == RUNNING


def test_what_a_killed_run_left_is_not_taken_for_a_running_one(tmp_path: Path) -> None:
    """Its ports may belong to somebody else by now."""
    folder = Folder(tmp_path)
    with folder.alone():
        folder.tell_running(RUNNING)

    with pytest.raises(Transient, match="Start it with: make run"):
        folder.running()


def test_folder_without_a_run_says_how_to_start_one(tmp_path: Path) -> None:
    """The first thing that a newcomer tries may be the second step."""
    with pytest.raises(Transient, match="Start it with: make run"):
        Folder(tmp_path / "never").running()
