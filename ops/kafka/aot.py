"""An ahead-of-time cache of the broker's classes: a start takes 2 s with it and 5 s without.

Owns: making the cache once a Java and a set of jars, from one short run of a broker.
May not: matter: without a cache, or with one that the JVM does not take, Kafka only starts later.
"""

import hashlib
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ops.kafka.cluster import plan_cluster
from ops.kafka.errors import BrokerAway, DiskFull
from ops.kafka.jars import Jar
from ops.kafka.jvm import AOT_SINCE, Jvm
from ops.kafka.node import Lifetime, Node
from ops.kafka.ports import free_ports
from ops.kafka.ready import wait_until_answered
from ops.kafka.telling import Teller

START_DEADLINE_S: Final = 120.0
# The JVM writes the cache while it ends: 5 s on two idle cores, two minutes were seen on busy ones.
WRITE_DEADLINE_S: Final = 300.0


def ready_cache(jvm: Jvm, jars: Sequence[Jar], *, folder: Path, teller: Teller) -> Path | None:
    """The cache for this Java and these jars, made now when it is new; None when there is none.

    The caller holds the folder's lock. A cache that could not be made is not tried again, but where
    only the disk was full.
    """
    if jvm.java.feature < AOT_SINCE:
        return None
    cache = folder / f"{_name(jvm, jars)}.aot"
    failed = cache.with_suffix(".failed")
    if not cache.exists() and not failed.exists():
        teller.say("Preparing a quicker start, once (about 10 s) ...")
        began = time.monotonic()
        try:
            _make(jvm, cache)
        except BrokerAway as error:
            if not isinstance(error, DiskFull):
                failed.write_text(f"{error}\n", encoding="utf-8")
            # The log that the sentence names is gone with the scratch folder.
            teller.say(f"No quicker start: {str(error).partition(' Its log: ')[0]}")
        else:
            teller.say(f"Prepared in {time.monotonic() - began:.0f} s.")
    return cache if cache.exists() else None


def _name(jvm: Jvm, jars: Sequence[Jar]) -> str:
    own = (str(jvm.java.executable), jvm.java.version, *jvm.tuning)
    parts = [*own, *(jar.sha256 for jar in jars)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _make(jvm: Jvm, cache: Path) -> None:
    """Run a broker until it answers, and end it. Raises BrokerAway when that makes no cache."""
    with tempfile.TemporaryDirectory(prefix="prepare-", dir=cache.parent) as scratch:
        written = Path(scratch) / cache.name
        training = jvm.with_flags(f"-XX:AOTCacheOutput={written}")
        _run_once(training, Path(scratch))
        if not written.exists():
            raise BrokerAway(f"{jvm.java} wrote no cache.")
        written.replace(cache)


def _run_once(jvm: Jvm, scratch: Path) -> None:
    plan = plan_cluster(scratch, nodes=1, ports=free_ports(1))
    node = Node(scratch / "node-1", plan=plan, address=plan.nodes[0], jvm=jvm)
    try:
        node.prepare()
        node.start(Lifetime.OWNED)
        wait_until_answered(
            plan.bootstrap_servers,
            by=frozenset({1}),
            deadline_s=START_DEADLINE_S,
            check=node.require_running,
        )
        node.stop(WRITE_DEADLINE_S)
    finally:
        node.kill()
