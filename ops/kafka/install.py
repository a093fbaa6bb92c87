"""What a node needs to run: checked jars, a Java, a cache for a quick start.

Owns: that all of it is made once, by one process, and said.
May not: run from a jar that was not checked in this very process.
"""

import os
import time
from pathlib import Path

from ops.kafka.aot import ready_cache
from ops.kafka.download import download
from ops.kafka.jars import SIZE_MB, Jar, check_jars, kafka_version, locked_jars, missing_jars
from ops.kafka.java import find_java
from ops.kafka.jvm import Jvm, class_path
from ops.kafka.locks import alone
from ops.kafka.room import require_room
from ops.kafka.telling import Teller


def install(folder: Path, *, teller: Teller) -> Jvm:
    """A JVM ready to run nodes. The first call downloads; later calls need no network.

    Safe to call from several processes: one works, the others wait. Raises BrokerAway, JarRefused.
    """
    jars, java = locked_jars(), find_java(os.environ)
    jar_folder = folder / "jars"
    jvm = Jvm(java=java, class_path=class_path(jars, jar_folder))
    with alone(folder / "install.lock", teller=teller, work="installing Kafka"):
        require_room(folder)
        _have_jars(jars, jar_folder, teller=teller)
        check_jars(jars, jar_folder)
        cache = ready_cache(jvm, jars, folder=folder, teller=teller)
    return jvm.with_flags(f"-XX:AOTCache={cache}") if cache else jvm


def _have_jars(jars: tuple[Jar, ...], folder: Path, *, teller: Teller) -> None:
    missing = missing_jars(jars, folder)
    if not missing:
        return
    size = f", about {SIZE_MB} MB" if len(missing) == len(jars) else ""
    teller.say(
        f"Apache Kafka {kafka_version(jars)}: downloading {len(missing)} jars{size} "
        f"from Maven Central into {folder}, once."
    )
    began = time.monotonic()
    download(missing, folder, teller=teller)
    teller.say(f"Downloaded and checked in {time.monotonic() - began:.0f} s.")
