"""Makes .venv and installs what ops/constraints.txt names: `make setup`, before anything else runs.

Owns: the virtual environment, the stamp that says it is up to date, and one sentence for each way
an installation fails.
May not: import anything but the standard library. find_python.py sees to it that Python is new.
"""

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ("pyproject.toml", "ops/constraints.txt")
# Measured on Linux; room is for both, and for what pip unpacks on the way.
DOWNLOAD_MB = 105
INSTALLED_MB = 360
ROOM_MB = 700
TOOLS = r"site-packages/(pip|setuptools|pkg_resources|mypyc?|pygments|hypothesis|_pytest|coverage)/"
PLAIN_INTERVAL_S = 5
AWAY = 3
FAILED = 1
UNTRUSTED = "The package index's certificate is not trusted: set PIP_CERT to your CA's file."
# These send packages elsewhere than into .venv.
MISPLACING = ("PIP_USER", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT")
# What pip says -> what the user can do. The first that is found counts: without a network pip also
# says that it found no distribution.
REASONS = (
    ("No space left on device", "The disk is full: {room} MB are needed.", AWAY),
    ("Disk quota exceeded", "The disk quota is used up: {room} MB are needed.", AWAY),
    ("CERTIFICATE_VERIFY_FAILED", UNTRUSTED, AWAY),
    ("ProxyError", "The proxy does not answer: see HTTPS_PROXY.", AWAY),
    ("Temporary failure in name resolution", "No network: the package index has no address.", AWAY),
    ("NewConnectionError", "No network: the package index does not answer.", AWAY),
    ("ConnectTimeout", "No network: the package index does not answer.", AWAY),
    ("SSLError", "TLS with the package index fails: see the log.", AWAY),
    ("ReadTimeout", "The package index answers too slowly: run it again.", AWAY),
    ("IncompleteRead", "The download was cut: run it again.", AWAY),
    ("Permission denied", "No right to write what the log names.", AWAY),
    ("ensurepip", "{no_venv}", AWAY),
    ("No module named venv", "{no_venv}", AWAY),
    ("No matching distribution", "A package has no ready-made build for this Python.", FAILED),
)


class SetupFailed(Exception):
    """One sentence for the user, and the exit code."""

    def __init__(self, sentence: str, code: int = FAILED) -> None:
        super().__init__(sentence)
        self.code = code


class Teller:
    """Short lines; on a terminal the last one rewrites itself."""

    def __init__(self) -> None:
        self._is_terminal = sys.stdout.isatty()
        self._shown_at = time.monotonic()

    def say(self, sentence: str) -> None:
        """Write a line of its own."""
        print(("\r\x1b[K" if self._is_terminal else "") + sentence, flush=True)

    def show(self, state: str) -> None:
        """Say how far it is: always on a terminal, each five seconds elsewhere."""
        now = time.monotonic()
        if self._is_terminal:
            print(f"\r\x1b[K  {state}", end="", flush=True)
        elif now - self._shown_at >= PLAIN_INTERVAL_S:
            self._shown_at = now
            print(f"  {state}", flush=True)


def main() -> int:
    """Return when .venv is what pyproject.toml and the constraints say: at once when it is."""
    teller = Teller()
    try:
        if not is_current(ROOT):
            with Lock(ROOT / ".onereply" / "setup.lock", teller):
                if not is_current(ROOT):
                    install(ROOT, teller)
    except SetupFailed as failed:
        teller.say(str(failed))
        return failed.code
    except OSError as error:
        teller.say(f"{error.strerror or error}: {error.filename or ROOT}")
        return AWAY
    except KeyboardInterrupt:
        teller.say("Interrupted: run it again to go on.")
        return 130
    return 0


class Lock:
    """One setup at a time in this folder; the second waits and then finds nothing to do."""

    def __init__(self, path: Path, teller: Teller) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("w")
        self._teller = teller

    def __enter__(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._teller.say("Another setup is at work in this folder: waiting for it.")
            fcntl.flock(self._file, fcntl.LOCK_EX)

    def __exit__(self, *_error: object) -> None:
        self._file.close()


def wanted_stamp(root: Path) -> dict[str, str]:
    """What an up-to-date .venv was made from. Scripts and the editable install name the folder."""
    content = b"\0".join((root / name).read_bytes() for name in SOURCES)
    version = "{}.{}".format(*sys.version_info[:2])
    return {
        "python": version,
        "folder": str(root),
        "sources": hashlib.sha256(content).hexdigest(),
    }


def found_stamp(root: Path) -> dict[str, str]:
    """What .venv was made from; empty when it is not whole, or its Python is gone."""
    if not os.access(venv_python(root), os.X_OK):
        return {}
    try:
        stamp = json.loads((root / ".venv" / "onereply.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return stamp if isinstance(stamp, dict) else {}


def is_current(root: Path) -> bool:
    """Whether there is nothing to do."""
    return found_stamp(root) == wanted_stamp(root)


def venv_python(root: Path) -> Path:
    """The Python of the environment."""
    return root / ".venv" / "bin" / "python"


def install(root: Path, teller: Teller) -> None:
    """Make .venv anew when its Python or folder changed; install into it. Raises SetupFailed."""
    began = time.monotonic()
    require_room(root)
    if not is_usable(root):
        make_venv(root, teller)
    install_packages(root, teller)
    compile_packages(root, teller)
    stamp = root / ".venv" / "onereply.json"
    stamp.with_suffix(".new").write_text(json.dumps(wanted_stamp(root)), encoding="utf-8")
    stamp.with_suffix(".new").replace(stamp)
    teller.say(f"Installed in {time.monotonic() - began:.0f} s.")


def require_room(root: Path) -> None:
    """Return when the disk has room. Raises SetupFailed."""
    free_mb = shutil.disk_usage(root).free // 1_000_000
    if free_mb < ROOM_MB:
        raise SetupFailed(f"{root} has {free_mb} MB left, and {ROOM_MB} MB are needed.", AWAY)


def is_usable(root: Path) -> bool:
    """Whether .venv is whole, of this Python and of this folder, so that pip can bring it up."""
    scripts = root / ".venv" / "bin"
    try:
        script = (scripts / "pip").read_text(encoding="utf-8")
    except OSError:
        return False
    version = "{}.{}".format(*sys.version_info[:2])
    return str(scripts) in script and os.access(scripts / f"python{version}", os.X_OK)


def make_venv(root: Path, teller: Teller) -> None:
    """Make .venv in place of what is there. Raises SetupFailed."""
    venv = root / ".venv"
    if Path(sys.prefix) == venv:
        raise SetupFailed(
            "This .venv is not whole: type deactivate, or rm -r .venv, then run it again."
        )
    teller.say("Making .venv with Python {}.{}.".format(*sys.version_info[:2]))
    if venv.is_symlink():
        venv.unlink()
    elif venv.exists():
        shutil.rmtree(venv)
    made = subprocess.run(
        [sys.executable, "-m", "venv", str(venv)], capture_output=True, text=True, check=False
    )
    if made.returncode != 0:
        said = made.stdout + made.stderr
        (root / ".onereply" / "setup.log").write_text(said, encoding="utf-8")
        raise failure(said, root)


def install_packages(root: Path, teller: Teller) -> None:
    """Install the project with everything that its tests need. Raises SetupFailed."""
    constraints = root / "ops" / "constraints.txt"
    packages = constraints.read_text(encoding="utf-8").count("==")
    teller.say(
        f"Installing {packages} packages into .venv: about {DOWNLOAD_MB} MB to download, "
        f"{INSTALLED_MB} MB on the disk."
    )
    # A newer pip than Python brings is three times as fast, which more than pays for its download.
    run_pip(["pip", "setuptools"], root, lambda _done: None)
    options = ["--no-build-isolation", "--no-compile", "--group", f"{root / 'pyproject.toml'}:dev"]
    run_pip(
        [*options, "-e", f"{root}[kafka]"],
        root,
        lambda done: teller.show(f"{min(done, packages)} of {packages} packages"),
    )


def run_pip(arguments: list[str], root: Path, collected: Callable[[int], None]) -> None:
    """Install what the arguments say, in the locked versions. Raises SetupFailed."""
    command = [str(venv_python(root)), "-I", "-u", "-m", "pip", "install"]
    command += ["--no-input", "--disable-pip-version-check", "--progress-bar", "off"]
    command += ["-c", str(root / "ops" / "constraints.txt"), *arguments]
    log = root / ".onereply" / "setup.log"
    count = 0
    pip = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=pip_environment(root),
        text=True,
        errors="replace",
    )
    with pip, log.open("w", encoding="utf-8") as kept:
        for line in pip.stdout or ():
            kept.write(line)
            if line.startswith("Collecting "):
                count += 1
                collected(count)
    if pip.wait() != 0:
        raise failure(log.read_text(encoding="utf-8"), root)


def compile_packages(root: Path, teller: Teller) -> None:
    """Compile what `make run` imports, on all cores: its processes start together.

    Tools for tests compile on their first use. A module that does not compile is left to its user.
    """
    teller.show("compiling")
    packages = next((root / ".venv" / "lib").glob("python3*/site-packages"))
    command = [str(venv_python(root)), "-I", "-m", "compileall", "-q", "-j", "0", "-x", TOOLS]
    with (root / ".onereply" / "setup.log").open("a", encoding="utf-8") as log:
        subprocess.run([*command, str(packages)], stdout=log, stderr=log, check=False)


def pip_environment(root: Path) -> dict[str, str]:
    """The user's own, less what would misplace packages; a cache here when HOME cannot have one."""
    environ = {key: value for key, value in os.environ.items() if key not in MISPLACING}
    if "PIP_CACHE_DIR" not in environ and not home_is_writable():
        environ["PIP_CACHE_DIR"] = str(root / ".onereply" / "pip-cache")
    return environ


def home_is_writable() -> bool:
    """Whether pip can keep its cache where it usually does."""
    # Unlike Path.expanduser, this one does not raise for a user without a home.
    home = os.path.expanduser("~")  # noqa: PTH111  # see above
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path(home) / ".cache")
    nearest = next((each for each in (cache, *cache.parents) if each.exists()), cache)
    return nearest.is_dir() and os.access(nearest, os.W_OK)


def failure(said: str, root: Path) -> SetupFailed:
    """One sentence for what pip or venv said, and where the whole of it is kept."""
    version = "{}.{}".format(*sys.version_info[:2])
    no_venv = (
        "This Python cannot make virtual environments: install its venv package "
        f"(Debian, Ubuntu: apt install python{version}-venv) and run it again."
    )
    log = f"Log: {root / '.onereply' / 'setup.log'}"
    for sign, sentence, code in REASONS:
        if sign in said:
            return SetupFailed(f"{sentence.format(room=ROOM_MB, no_venv=no_venv)} {log}", code)
    errors = [line for line in said.splitlines() if line.startswith("ERROR")]
    return SetupFailed(f"{errors[-1] if errors else 'It gave no reason.'} {log}")


if __name__ == "__main__":
    sys.exit(main())
