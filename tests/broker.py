"""The broker that the tests run on: real Kafka, one for all processes of a test run.

Owns: the keeper, a process that holds the broker and ends when the last user's pipe is closed, so
that no way of ending a test run leaves a broker behind.
May not: be needed when ONEREPLY_BOOTSTRAP_SERVERS names a broker.
"""

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from ops.kafka.broker import LocalKafka
from ops.kafka.cluster import cluster_folder, install_folder
from ops.kafka.errors import BrokerAway
from ops.kafka.install import install
from ops.kafka.process import until
from ops.kafka.telling import Lines, Silence

ROOT: Final = Path(__file__).parents[1]
# Where `make run` has its jars too: they are downloaded once a checkout.
DATA_DIR: Final = Path(os.environ.get("ONEREPLY_DATA_DIR", ROOT / ".onereply"))
# The first start on a machine downloads 45 MB.
START_DEADLINE_S: Final = 300.0
STOP_DEADLINE_S: Final = 60.0


@contextmanager
def shared_broker(folder: Path) -> Iterator[str]:
    """Bootstrap servers of the broker of all processes that name this folder.

    The first one starts it; it ends after the last one has left, in whatever way it left.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        pipe = _join(folder)
        keeper = None
        if pipe is None:
            keeper, pipe = _found(folder)
        servers = (folder / "servers").read_text(encoding="ascii")
    try:
        yield servers
    finally:
        os.close(pipe)
        # Only who started the keeper can wait for it; the others have left, or will soon.
        if keeper:
            keeper.wait()


def _join(folder: Path) -> int | None:
    """A user's end of the keeper's pipe; None when no keeper reads it."""
    try:
        return os.open(folder / "users", os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return None


def _found(folder: Path) -> tuple[subprocess.Popen[bytes], int]:
    (folder / "servers").unlink(missing_ok=True)
    (folder / "users").unlink(missing_ok=True)
    os.mkfifo(folder / "users")
    # Open for both, so that neither this nor the keeper's open waits for the other.
    pipe = os.open(folder / "users", os.O_RDWR)
    with (folder / "keeper.log").open("wb") as log:
        keeper = subprocess.Popen(
            [sys.executable, "-m", "tests.broker", str(folder)],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    is_up = until(
        lambda: (folder / "servers").exists() or keeper.poll() is not None,
        deadline_s=START_DEADLINE_S,
    )
    if not is_up or keeper.poll() is not None:
        keeper.kill()
        keeper.wait()
        os.close(pipe)
        raise BrokerAway((folder / "keeper.log").read_text(encoding="utf-8"))
    only_writer = _join(folder)
    os.close(pipe)
    if only_writer is None:
        raise BrokerAway("The keeper of the tests' broker has ended.")
    return keeper, only_writer


def link_jars(data_dir: Path) -> None:
    """Let a data folder have the jars of the project's own, instead of downloading them again."""
    own, installed = install_folder(data_dir), install_folder(DATA_DIR)
    install(installed, teller=Silence())
    own.mkdir()
    for each in (installed / "jars", *installed.glob("*.aot"), *installed.glob("*.failed")):
        (own / each.name).symlink_to(each)


def keep(folder: Path) -> None:
    """Hold a broker until nobody uses it; then remove its data and leave its logs."""
    with LocalKafka(folder, install_dir=DATA_DIR, teller=Lines()) as kafka:
        with (folder / "users").open("rb") as users:
            new = folder / "servers.new"
            new.write_text(kafka.bootstrap_servers, encoding="ascii")
            new.rename(folder / "servers")
            users.read()
        (folder / "servers").unlink()
    for data in cluster_folder(folder).glob("node-*/data"):
        shutil.rmtree(data)


if __name__ == "__main__":
    try:
        keep(Path(sys.argv[1]))
    except BrokerAway as error:
        sys.exit(str(error))
