"""With how many partitions the data in a folder was written, as its files say without a broker.

Owns: the look into the folders of the data folder's own broker, and the sentence.
May not: look at topics that were deleted, or at a broker.
"""

import re
from pathlib import Path
from typing import Final

from ops.kafka.cluster import cluster_folder
from schemas.errors import SettingsError
from schemas.settings import Settings
from schemas.topics import TOPICS, Topic

PARTITION: Final = re.compile(r"(?P<topic>.+)-(?P<number>\d+)")


def require_same_partitions(settings: Settings) -> None:
    """Return when the data folder has as many partitions as the settings say, or none.

    Raises SettingsError: another count sends keys to partitions where their state is not.
    """
    count = written_partitions(settings)
    if count not in {0, settings.partitions}:
        sentence = (
            f"ONEREPLY_PARTITIONS is {settings.partitions}, and the data in {settings.data_dir} "
            f"was written with {count}. Set ONEREPLY_PARTITIONS={count}, or name another folder: "
            "ONEREPLY_DATA_DIR (--data-dir)."
        )
        raise SettingsError([sentence])


def written_partitions(settings: Settings) -> int:
    """How many partitions the broker's files hold of a partitioned topic; 0 when there are none.

    The most of any topic: a broker that was killed may have made the rest of one only.
    """
    names = {settings.shape().name(topic) for topic in Topic if TOPICS[topic].is_partitioned}
    folders = cluster_folder(Path(settings.data_dir)).glob("node-*/data/*/")
    found = (PARTITION.fullmatch(folder.name) for folder in folders)
    numbers = [int(each["number"]) for each in found if each and each["topic"] in names]
    return max(numbers, default=-1) + 1
