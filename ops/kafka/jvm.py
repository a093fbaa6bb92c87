"""The command lines of the JVM.

Owns: heap, collector, class path order and the flags that a Java release knows.
May not: run anything.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Self

from ops.kafka.errors import BrokerAway
from ops.kafka.jars import Jar
from ops.kafka.java import Java

BROKER: Final = "kafka.Kafka"
FORMAT: Final = ("kafka.tools.StorageTool", "format")
# For runs of minutes on few cores: the second compiler takes a core for the first minutes, and G1's
# threads and barriers take a share for good. A mail costs the broker 18 ms of CPU, not 22.
BRIEF: Final = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
# For runs that are long enough: an eighth more records a second once it is warm.
STEADY: Final = ("-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20")
# The first release that reads a cache made in one step.
AOT_SINCE: Final = 25
# Before these releases the flags are not known, and a JVM refuses what it does not know.
UNSAFE_FLAG_SINCE: Final = 23
NATIVE_FLAG_SINCE: Final = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Jvm:
    """A Java, the jars that it runs, how it is tuned, and flags that come first."""

    java: Java
    class_path: str
    flags: tuple[str, ...] = ()
    tuning: tuple[str, ...] = BRIEF

    def with_flags(self, *flags: str) -> Self:
        """The same with more flags."""
        return replace(self, flags=(*self.flags, *flags))

    def steady(self) -> Self:
        """The same, for a long run."""
        return replace(self, tuning=STEADY)

    def broker(self, mark: str, properties: str = "server.properties") -> list[str]:
        """The command that runs a node in its folder, known by the mark."""
        own = ("-Xmx512m", *self.tuning, "-XX:+ExitOnOutOfMemoryError", mark)
        return self._command(own, (BROKER, properties))

    def format(self, cluster_id: str, properties: str) -> list[str]:
        """The command that makes a new log folder."""
        return self._command(("-Xmx128m", *BRIEF), (*FORMAT, "-t", cluster_id, "-c", properties))

    def _command(self, own: Sequence[str], main: Sequence[str]) -> list[str]:
        settings = ("-Djava.awt.headless=true", "-Dlog4j2.configurationFile=log4j2.properties")
        # No file in /tmp for each JVM.
        quiet = (
            "-XX:-UsePerfData",
            "-Xlog:disable",
            "-Xlog:all=error:stderr",
            "-XX:ErrorFile=hs_err.log",
        )
        line = [*own, *self.flags, *_flags_of(self.java), *quiet, *settings]
        return [str(self.java.executable), *line, "-cp", self.class_path, *main]


def _flags_of(java: Java) -> list[str]:
    """The broker unmaps files and loads codecs in ways that newer releases warn about."""
    flags = []
    if java.feature >= UNSAFE_FLAG_SINCE:
        flags.append("--sun-misc-unsafe-memory-access=allow")
    if java.feature >= NATIVE_FLAG_SINCE:
        flags.append("--enable-native-access=ALL-UNNAMED")
    return flags


def class_path(jars: Sequence[Jar], folder: Path) -> str:
    """Exactly the locked jars, in the lock's order; what else lies in the folder is not run."""
    if os.pathsep in str(folder):
        raise BrokerAway(f"{folder}: Java cannot use a folder with '{os.pathsep}' in its name.")
    return os.pathsep.join(str(folder / jar.filename) for jar in jars)
