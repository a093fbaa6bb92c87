from pathlib import Path

import pytest

from ops.kafka.jars import kafka_version, locked_jars
from tests.bench.running import PeerAbsent
from tests.bench.streams import PEERS, jdk_java


def a_java(folder: Path, *, programs: tuple[str, ...]) -> Path:
    """The `bin` folder of a Java that has these programs."""
    (folder / "bin").mkdir(parents=True)
    for name in programs:
        (folder / "bin" / name).touch(mode=0o755)
    return folder / "bin"


def test_a_java_without_a_compiler_is_passed_over(tmp_path: Path) -> None:
    """JAVA_HOME may hold the runtime of the broker only, while PATH holds a whole JDK."""
    a_java(tmp_path / "jre", programs=("java",))
    jdk = a_java(tmp_path / "jdk", programs=("java", "javac"))

    found = jdk_java({"JAVA_HOME": str(tmp_path / "jre"), "PATH": str(jdk)})

    assert found == jdk / "java"


def test_where_no_compiler_is_the_row_says_so(tmp_path: Path) -> None:
    """A table with an empty line would look like a failure."""
    jre = a_java(tmp_path / "jre", programs=("java",))

    with pytest.raises(PeerAbsent, match="it needs a JDK"):
        jdk_java({"PATH": str(jre)})


def test_the_peer_is_of_the_brokers_release() -> None:
    """Client and broker of two releases would not be the pair that people run."""
    versions = {
        jar.version
        for jar in locked_jars(PEERS / "jgo.lock.toml")
        if jar.group == "org.apache.kafka"
    }

    assert versions == {kafka_version(locked_jars())}
