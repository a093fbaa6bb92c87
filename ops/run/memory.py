"""Whether the broker still knows what the data folder holds.

A broker that lost its metadata comes back empty, and topics made anew over the old partitions
would make the loss final: events that were accepted would be gone, and stages would stop at topics
that are not theirs.

Owns: what in a data folder says that a missing topic was there once, and the sentence about it.
May not: make, move or delete anything.
"""

import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

from ops.kafka.cluster import cluster_folder, running, stored_plan
from schemas.cluster import LOCAL_BOOTSTRAP
from schemas.errors import Permanent
from schemas.settings import Settings
from schemas.topics import Topic

# `topic-0`, and `topic-0.0123abcd-stray` for a partition that a broker found and did not know.
# One that ends in `-delete` was deleted by somebody, rightly.
PARTITION: Final = re.compile(r"(?P<topic>.+)-\d+(?:\.[0-9a-f]+-stray)?")
STATEFUL: Final = frozenset(
    topic.removesuffix("-state") for topic in Topic if topic.endswith("-state")
)
ADVICE: Final = 'docs/operations.md says what to do ("A full disk")'


class MemoryLost(Permanent):
    """The broker does not know topics whose records lie in the data folder."""


def is_own(settings: Settings) -> bool:
    """Whether the broker that these settings name is the one that runs in the data folder."""
    data_dir = Path(settings.data_dir)
    plan = stored_plan(data_dir)
    servers = settings.bootstrap_servers or LOCAL_BOOTSTRAP
    return plan is not None and servers == plan.bootstrap_servers and bool(running(data_dir))


def require_remembered(settings: Settings, seen: Collection[str]) -> None:
    """Return when no topic that is missing among those seen was there before. Raises MemoryLost."""
    names = [settings.shape().name(topic) for topic in Topic]
    missing = [name for name in names if name not in seen]
    if not missing:
        return
    folder = Path(settings.data_dir).absolute()
    if is_own(settings) and (held := [*held_partitions(folder, missing)]):
        raise MemoryLost(
            f"Kafka has lost its metadata: it does not know {len(missing)} of {len(names)} topics, "
            f"and {cluster_folder(folder)} holds {len(held)} partitions of them. "
            f"No topic is made over them; {ADVICE}."
        )
    if len(missing) == len(names) and (stores := [*held_stores(settings)]):
        raise MemoryLost(
            f"Kafka knows none of the {len(names)} topics, and {folder / 'state'} holds what "
            f"{', '.join(stores)} made of them. No topic is made anew beside it; {ADVICE}."
        )


def held_partitions(data_dir: Path, topics: Collection[str]) -> Iterator[str]:
    """The partitions of these topics in the folders of the data folder's nodes, by folder name."""
    for folder in sorted(cluster_folder(data_dir).glob("node-*/data/*/")):
        named = PARTITION.fullmatch(folder.name)
        if named and named["topic"] in topics:
            yield folder.name


def held_stores(settings: Settings) -> Iterator[str]:
    """The stages whose stores lie in the data folder."""
    for folder in sorted((Path(settings.data_dir) / "state").glob(f"{settings.topic_prefix}*/")):
        stage = folder.name.removeprefix(settings.topic_prefix)
        if stage in STATEFUL and any(folder.glob("*/*/CURRENT")):
            yield stage
