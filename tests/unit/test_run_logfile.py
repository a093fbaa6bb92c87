from pathlib import Path

from ops.run.logfile import LogFile

LINE = b"x" * 99 + b"\n"


def written(path: Path, count: int) -> LogFile:
    """A log file of at most ten lines, after so many."""
    log = LogFile(path, file_bytes=10 * len(LINE))
    for _ in range(count):
        log.write(LINE)
    log.close()
    return log


def sizes(folder: Path) -> dict[str, int]:
    """The files that are there, with how many lines each has."""
    return {each.name: each.stat().st_size // len(LINE) for each in sorted(folder.iterdir())}


def test_log_keeps_the_newest_lines_within_a_bound(tmp_path: Path) -> None:
    """A part that complains all night must not fill the disk."""
    written(tmp_path / "send.log", 95)

    assert sizes(tmp_path) == {"send.log": 5, "send.log.1": 10, "send.log.2": 10}


def test_next_run_writes_on_behind_the_last_one(tmp_path: Path) -> None:
    """What happened before a restart is what one wants to read after it."""
    written(tmp_path / "send.log", 4)
    written(tmp_path / "send.log", 4)

    assert sizes(tmp_path) == {"send.log": 8}


def test_line_that_cannot_be_written_is_dropped_and_counted(tmp_path: Path) -> None:
    """A full disk must not stop a part that only wanted to say something."""
    (tmp_path / "file").write_text("no folder")

    assert written(tmp_path / "file" / "send.log", 3).dropped == 3
