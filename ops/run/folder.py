"""The data folder of a run: who works in it, where things lie, the stand-in's secrets.

Owns: the lock, run.json (where a run listens, for other terminals), and the file with the secrets.
May not: print a secret, or put one anywhere but in that file and in the environment of parts.
"""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import Final

import msgspec

from ops.run.lock import NAME, taken
from ops.run.lock import owner as owner_of
from ops.standin.signing import secret_of
from schemas.errors import Transient

OWNER_ONLY: Final = 0o600
SECRET_BYTES: Final = 32


class End(Enum):
    """How a run ended."""

    CLEAN = "it stopped what it had started"
    KILLED = "it was killed"


class Secrets(msgspec.Struct, frozen=True, kw_only=True):
    """What the stand-in and the pipeline share, made once a data folder."""

    webhook_secret: str
    api_key: str


class Running(msgspec.Struct, frozen=True, kw_only=True):
    """Where a run listens. `inboxes` are those that the stand-in serves, with their routes."""

    pid: int
    door: str
    provider: str
    bootstrap_servers: str
    topic_prefix: str
    partitions: int
    inboxes: dict[str, str]


class Folder:
    """The places in a data folder."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir.absolute()

    @property
    def logs(self) -> Path:
        """One file a part."""
        return self.data_dir / "logs"

    @property
    def mailbox(self) -> Path:
        """What the stand-in provider keeps."""
        return self.data_dir / "provider.jsonl"

    @property
    def config(self) -> Path:
        """The onereply.toml for the stand-in."""
        return self.data_dir / "onereply.toml"

    @property
    def state(self) -> Path:
        """What other terminals read."""
        return self.data_dir / "run.json"

    @property
    def _lock(self) -> Path:
        return self.data_dir / NAME

    @contextmanager
    def alone(self) -> Iterator[End]:
        """Hold the folder; how the run before this one ended. Raises Transient when one runs.

        The kernel frees the folder of a run that was killed.
        """
        self.data_dir.mkdir(parents=True, exist_ok=True)
        with self._lock.open("a+") as lock:
            owner = taken(lock)
            if owner is None:
                raise Transient(
                    f"OneReply runs in {self.data_dir} already (process {owner_of(lock)}). "
                    "Name another folder: ONEREPLY_DATA_DIR (--data-dir)."
                )
            lock.truncate(0)
            lock.write(f"{os.getpid()}\n")
            lock.flush()
            try:
                yield End.KILLED if owner else End.CLEAN
            finally:
                lock.truncate(0)

    def secrets(self) -> Secrets:
        """The folder's secrets, made when it has none. Only the owner can read their file."""
        path = self.data_dir / "secrets.json"
        try:
            return msgspec.json.decode(path.read_bytes(), type=Secrets)
        except (FileNotFoundError, msgspec.DecodeError):
            made = Secrets(
                webhook_secret=secret_of(secrets.token_bytes(SECRET_BYTES)),
                api_key="am_" + secrets.token_urlsafe(SECRET_BYTES),
            )
        new = path.with_suffix(".new")
        new.unlink(missing_ok=True)
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY), "wb") as file:  # noqa: PTH123  # the mode counts from the first moment
            file.write(msgspec.json.encode(made))
        new.replace(path)
        return made

    def tell_running(self, running: Running) -> None:
        """Leave where this run listens."""
        new = self.state.with_suffix(".new")
        new.write_bytes(msgspec.json.format(msgspec.json.encode(running)) + b"\n")
        new.replace(self.state)

    def forget_running(self) -> None:
        """Nothing listens any more."""
        self.state.unlink(missing_ok=True)

    def running(self) -> Running:
        """Where the run of this folder listens. Raises Transient when none is up."""
        down = f"No OneReply runs in {self.data_dir}. Start it with: make run"
        try:
            found = msgspec.json.decode(self.state.read_bytes(), type=Running)
            with self._lock.open("r") as lock:
                is_left_over = taken(lock) is not None
        except (FileNotFoundError, msgspec.DecodeError) as error:
            raise Transient(down) from error
        if is_left_over:
            raise Transient(down)
        return found
