import json
import sys
from pathlib import Path

import pytest

from ops import bootstrap

VERSION = "{}.{}".format(*sys.version_info[:2])


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project folder whose .venv is up to date."""
    (tmp_path / "ops").mkdir()
    for name in bootstrap.SOURCES:
        (tmp_path / name).write_text("content")
    scripts = tmp_path / ".venv" / "bin"
    scripts.mkdir(parents=True)
    (scripts / "pip").write_text(f"#!{scripts}/python\n")
    for name in ("python", f"python{VERSION}"):
        (scripts / name).symlink_to(sys.executable)
    stamp = json.dumps(bootstrap.wanted_stamp(tmp_path))
    (tmp_path / ".venv" / "onereply.json").write_text(stamp)
    return tmp_path


def test_nothing_is_done_when_the_stamp_matches(root: Path) -> None:
    """Every make target asks for it first."""
    assert bootstrap.is_current(root)


@pytest.mark.parametrize("name", bootstrap.SOURCES)
def test_changed_source_asks_for_an_installation(root: Path, name: str) -> None:
    """A dependency that was added must reach everybody's .venv."""
    (root / name).write_text("changed")

    assert not bootstrap.is_current(root)
    assert bootstrap.is_usable(root)


@pytest.mark.parametrize("stamp", ["", "[]", '{"python": "2.7"}'])
def test_foreign_stamp_asks_for_an_installation(root: Path, stamp: str) -> None:
    """An installation that was interrupted leaves any content."""
    (root / ".venv" / "onereply.json").write_text(stamp)

    assert not bootstrap.is_current(root)


def test_environment_without_its_python_is_made_anew(root: Path) -> None:
    """A .venv outlives the Python that it was made from."""
    for name in ("python", f"python{VERSION}"):
        (root / ".venv" / "bin" / name).unlink()

    assert not bootstrap.is_current(root)
    assert not bootstrap.is_usable(root)


def test_environment_of_a_moved_folder_is_made_anew(root: Path, tmp_path: Path) -> None:
    """Its scripts name the folder that it was made in."""
    moved = tmp_path.with_name(f"{tmp_path.name}-moved")
    root.rename(moved)

    assert not bootstrap.is_current(moved)
    assert not bootstrap.is_usable(moved)


@pytest.mark.parametrize(
    ("said", "sentence", "code"),
    [
        (
            "ERROR: Could not install: [Errno 28] No space left on device",
            "The disk is full: 700 MB are needed.",
            3,
        ),
        (
            "WARNING: Retrying after NewConnectionError\nERROR: No matching distribution found",
            "No network: the package index does not answer.",
            3,
        ),
        (
            "WARNING: [SSL: CERTIFICATE_VERIFY_FAILED]\nERROR: No matching distribution found",
            "certificate is not trusted: set PIP_CERT to your CA's file.",
            3,
        ),
        ("WARNING: SSLError(EOF)", "TLS with the package index fails", 3),
        ("ERROR: No matching distribution found for x", "A package has no ready-made build", 1),
        ("Error: ... '-m', 'ensurepip' returned 1", "install its venv package", 3),
        ("WARNING: odd\nERROR: something new", "ERROR: something new Log:", 1),
        ("", "It gave no reason.", 1),
    ],
    ids=["disk", "network", "certificate", "tls", "build", "venv", "unknown", "silent"],
)
def test_failure_is_one_sentence_with_a_code(
    tmp_path: Path, said: str, sentence: str, code: int
) -> None:
    """What pip says about a missing network is forty lines about something else."""
    failed = bootstrap.failure(said, tmp_path)

    assert sentence in str(failed)
    assert (failed.code, str(failed).count("\n")) == (code, 0)


@pytest.fixture
def environ(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """An environment without pip's settings."""
    for name in ("PIP_CACHE_DIR", "XDG_CACHE_HOME", *bootstrap.MISPLACING):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def test_user_settings_of_pip_are_kept(environ: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An index or a cache of one's own is why they exist; a target elsewhere would misplace."""
    environ.setenv("PIP_INDEX_URL", "https://index.example")
    environ.setenv("PIP_CACHE_DIR", "/own/cache")
    environ.setenv("PIP_USER", "1")

    given = bootstrap.pip_environment(tmp_path)

    assert (given["PIP_INDEX_URL"], given["PIP_CACHE_DIR"]) == (
        "https://index.example",
        "/own/cache",
    )
    assert "PIP_USER" not in given


def test_cache_is_in_the_home_that_can_be_written(
    environ: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The user's own cache serves all their projects."""
    environ.setenv("HOME", str(tmp_path))

    assert "PIP_CACHE_DIR" not in bootstrap.pip_environment(tmp_path)


def test_cache_is_here_when_there_is_no_home(environ: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A container's user has none."""
    (tmp_path / "no-folder").touch()
    environ.setenv("HOME", str(tmp_path / "no-folder"))

    given = bootstrap.pip_environment(tmp_path)

    assert given["PIP_CACHE_DIR"] == str(tmp_path / ".onereply" / "pip-cache")
