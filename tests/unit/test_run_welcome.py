from pathlib import Path

from ops.kafka.room import START_MB
from ops.run.command import run
from ops.run.folder import Folder
from ops.run.welcome import send_test_command


def test_other_terminal_is_told_the_folder_of_the_run(tmp_path: Path) -> None:
    """It does not have this one's variables, and would look where nothing runs."""
    told = send_test_command(Folder(tmp_path / "my data"))

    assert told.endswith(f"onereply send-test --data-dir '{tmp_path}/my data'")


def test_usual_folder_needs_no_option() -> None:
    """The shortest line is the one that is typed."""
    assert send_test_command(Folder(Path(".onereply"))).endswith("onereply send-test")


def test_help_of_a_run_says_how_much_disk_it_takes() -> None:
    """Who has little room wants to know before, not after."""
    assert f"less than {START_MB} MB free" in " ".join(str(run.help).split())
