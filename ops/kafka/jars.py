"""The jars that the broker is made of, as the lock file names them.

Owns: reading the lock file, and the rule that no jar runs whose SHA-256 differs from it.
May not: download.
"""

import hashlib
import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ops.kafka.errors import JarRefused

LOCK_FILE: Final = Path(__file__).with_name("jgo.lock.toml")
# Told before the download; the lock file holds sums, not sizes. A test compares it.
SIZE_MB: Final = 45


@dataclass(frozen=True, slots=True, kw_only=True)
class Jar:
    """One file of the lock."""

    group: str
    artifact: str
    version: str
    sha256: str

    @property
    def filename(self) -> str:
        """Its name in the jar folder: one name an artifact and version."""
        return f"{self.artifact}-{self.version}.jar"


def locked_jars(lock_file: Path = LOCK_FILE) -> tuple[Jar, ...]:
    """The jars of the lock file, in its order. Raises JarRefused when one has no SHA-256."""
    lock = tomllib.loads(lock_file.read_text(encoding="utf-8"))
    return tuple(_jar(entry) for entry in lock["dependencies"])


def _jar(entry: dict[str, str]) -> Jar:
    if not entry.get("sha256"):
        raise JarRefused(f"{entry['artifactId']} has no SHA-256 in {LOCK_FILE.name}: not used.")
    return Jar(
        group=entry["groupId"],
        artifact=entry["artifactId"],
        version=entry["version"],
        sha256=entry["sha256"],
    )


def kafka_version(jars: Sequence[Jar]) -> str:
    """The version of the broker among the jars."""
    return next(jar.version for jar in jars if jar.artifact.startswith("kafka_"))


def missing_jars(jars: Sequence[Jar], folder: Path) -> list[Jar]:
    """Those that the folder does not have."""
    return [jar for jar in jars if not (folder / jar.filename).is_file()]


def check_jar(jar: Jar, path: Path, *, advice: str) -> None:
    """Return when the file is the jar that the lock names. Raises JarRefused, with the advice."""
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != jar.sha256:
        raise JarRefused(
            f"{jar.filename} is not the jar that the lock file names "
            f"(SHA-256 {found[:12]}..., expected {jar.sha256[:12]}...): it is not run. {advice}"
        )


def check_jars(jars: Sequence[Jar], folder: Path) -> None:
    """Return when every jar in the folder is the one that the lock names. Raises JarRefused."""
    advice = f"Delete it from {folder} to have it downloaded again."
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda jar: check_jar(jar, folder / jar.filename, advice=advice), jars))
