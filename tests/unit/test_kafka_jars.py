import hashlib
from pathlib import Path

import pytest

from ops.kafka.errors import BrokerAway, JarRefused
from ops.kafka.jars import Jar, check_jar, check_jars, kafka_version, locked_jars, missing_jars
from ops.kafka.java import Java
from ops.kafka.jvm import Jvm, class_path


def a_jar(content: bytes, *, artifact: str = "part") -> Jar:
    """A jar whose locked bytes are these."""
    return Jar(
        group="org.example",
        artifact=artifact,
        version="1.0",
        sha256=hashlib.sha256(content).hexdigest(),
    )


def test_lock_file_names_a_sum_for_each_of_its_jars() -> None:
    """A jar without a sum could be any jar."""
    assert {len(jar.sha256) for jar in locked_jars()} == {64}


def test_parts_of_kafka_have_one_version() -> None:
    """A dependency's version table once pulled the clients back by a major release."""
    versions = {jar.version for jar in locked_jars() if jar.group == "org.apache.kafka"}

    assert versions == {kafka_version(locked_jars())}


def test_jars_have_names_of_their_own() -> None:
    """Two jars with one file name would overwrite each other."""
    names = [jar.filename for jar in locked_jars()]

    assert len(set(names)) == len(names)


def test_lock_without_a_sum_is_refused(tmp_path: Path) -> None:
    """The resolver writes an entry without a sum when it could not read the file."""
    lock = tmp_path / "jgo.lock.toml"
    lock.write_text('[[dependencies]]\ngroupId = "g"\nartifactId = "part"\nversion = "1"\n')

    with pytest.raises(JarRefused, match="part has no SHA-256"):
        locked_jars(lock)


def test_jar_with_the_locked_bytes_passes(tmp_path: Path) -> None:
    """The check must not stand in the way of the right jar."""
    (tmp_path / "part-1.0.jar").write_bytes(b"right")

    check_jars([a_jar(b"right")], tmp_path)


def test_jar_with_other_bytes_is_refused_by_name(tmp_path: Path) -> None:
    """The user must know which file to look at."""
    path = tmp_path / "part-1.0.jar"
    path.write_bytes(b"wrong")

    with pytest.raises(JarRefused, match=r"^part-1\.0\.jar is not the jar .* Look at it\.$"):
        check_jar(a_jar(b"right"), path, advice="Look at it.")


def test_only_absent_jars_are_missing(tmp_path: Path) -> None:
    """An interrupted download goes on where it ended."""
    there, absent = a_jar(b"", artifact="there"), a_jar(b"", artifact="absent")
    (tmp_path / there.filename).touch()

    assert missing_jars([there, absent], tmp_path) == [absent]


def test_class_path_holds_the_locked_jars_and_nothing_else(tmp_path: Path) -> None:
    """A jar that someone drops into the folder is not run."""
    (tmp_path / "dropped-in.jar").touch()
    jars = [a_jar(b"", artifact="b"), a_jar(b"", artifact="a")]

    assert class_path(jars, tmp_path) == f"{tmp_path}/b-1.0.jar:{tmp_path}/a-1.0.jar"


def test_folder_that_java_cannot_name_is_refused() -> None:
    """A colon separates the entries of a class path and cannot be quoted in one."""
    with pytest.raises(BrokerAway, match="Java cannot use a folder with ':' in its name"):
        class_path([a_jar(b"")], Path("/data/10:30"))


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("17.0.15", []),
        ("23.0.1", ["--sun-misc-unsafe-memory-access=allow"]),
        (
            "25.0.2",
            ["--sun-misc-unsafe-memory-access=allow", "--enable-native-access=ALL-UNNAMED"],
        ),
    ],
)
def test_flags_are_those_that_the_java_knows(version: str, expected: list[str]) -> None:
    """A JVM refuses to start on a flag that it does not know."""
    java = Java(executable=Path("java"), version=version, origin="")

    command = Jvm(java=java, class_path="all.jar").broker("-Dmark")

    assert [flag for flag in command if flag.startswith("--")] == expected
    assert command[-2:] == ["kafka.Kafka", "server.properties"]
