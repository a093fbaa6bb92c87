"""Kafka Streams as a peer: its jars, checked, and its program, compiled here.

Owns: .onereply/peers/kafka-streams, and which JDK compiles and runs it.
May not: run a jar that its lock file does not name.
"""

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from ops.kafka.download import download
from ops.kafka.errors import BrokerAway, JarRefused
from ops.kafka.jars import check_jars, locked_jars, missing_jars
from ops.kafka.jvm import class_path
from ops.kafka.locks import alone
from ops.kafka.telling import Lines
from tests.bench.running import PeerAbsent

FOLDER: Final = Path(".onereply/peers/kafka-streams").absolute()
PEERS: Final = Path(__file__).parent / "peers"
SOURCE: Final = PEERS / "KafkaStreamsDedupe.java"
COMPILE_DEADLINE_S: Final = 120


def streams_command() -> list[str]:
    """What runs the program, its options still to come. Raises PeerAbsent, saying why."""
    java = jdk_java(os.environ)
    jars, folder = locked_jars(PEERS / "jgo.lock.toml"), FOLDER / "jars"
    teller = Lines()
    try:
        with alone(FOLDER / "install.lock", teller=teller, work="installing Kafka Streams"):
            if missing := missing_jars(jars, folder):
                teller.say(f"Kafka Streams: downloading {len(missing)} jars, about 90 MB, once.")
                download(missing, folder, teller=teller)
            check_jars(jars, folder)
    except (BrokerAway, JarRefused) as error:
        raise PeerAbsent(str(error)) from error
    path = class_path(jars, folder)
    classes = _compiled(java.with_name("javac"), path)
    return [str(java), "-Xmx1g", "-cp", os.pathsep.join((str(classes), path)), SOURCE.stem]


def jdk_java(environ: Mapping[str, str]) -> Path:
    """The Java of JAVA_HOME, else of PATH, with a compiler beside it. Raises PeerAbsent."""
    home = environ.get("JAVA_HOME", "").strip()
    on_path = shutil.which("java", path=environ.get("PATH", ""))
    named = [Path(home) / "bin" / "java"] if home else []
    found = [*named, *([Path(on_path).resolve()] if on_path else [])]
    for java in found:
        if os.access(java, os.X_OK) and os.access(java.with_name("javac"), os.X_OK):
            return java
    raise PeerAbsent("it needs a JDK, and there is no javac in JAVA_HOME nor beside java on PATH")


def _compiled(javac: Path, path: str) -> Path:
    classes = FOLDER / "classes"
    command = [str(javac), "-cp", path, "-d", str(classes), str(SOURCE)]
    try:
        subprocess.run(
            command, check=True, timeout=COMPILE_DEADLINE_S, capture_output=True, text=True
        )
    except subprocess.TimeoutExpired as error:
        raise PeerAbsent(f"javac did not end within {COMPILE_DEADLINE_S} s") from error
    except subprocess.CalledProcessError as error:
        last = (error.stderr.splitlines() or ["it said nothing"])[-1]
        raise PeerAbsent(f"javac refused {SOURCE.name}: {last}") from error
    return classes
