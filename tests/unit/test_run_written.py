from pathlib import Path

import pytest

from ops.kafka.cluster import cluster_folder
from ops.run.written import require_same_partitions, written_partitions
from schemas.errors import SettingsError
from schemas.settings import Settings, load_settings


def settings_of(folder: Path, partitions: int) -> Settings:
    """The settings of a run in this folder."""
    return load_settings(data_dir=str(folder), partitions=partitions, topic_prefix="p-")


def write(folder: Path, *partitions: str) -> None:
    """Let the folder's broker hold these."""
    for name in partitions:
        (cluster_folder(folder) / "node-1" / "data" / name).mkdir(parents=True)


def test_partitions_are_those_of_our_own_topics(tmp_path: Path) -> None:
    """Kafka's topics, a topic that was deleted and another installation's say nothing of ours."""
    write(
        tmp_path,
        "p-inbound-events-0",
        "p-dedupe-state-2",
        "p-control-0",
        "inbound-events-9",
        "__consumer_offsets-49",
        "p-inbound-events-7.0123abcd-delete",
    )

    assert written_partitions(settings_of(tmp_path, 4)) == 3


@pytest.mark.parametrize("held", [(), ("p-audit-3",)], ids=["new folder", "same count"])
def test_new_folder_and_the_same_count_are_fine(tmp_path: Path, held: tuple[str, ...]) -> None:
    """The first start and every one after it."""
    write(tmp_path, *held)

    require_same_partitions(settings_of(tmp_path, 4))


def test_other_count_says_what_to_set(tmp_path: Path) -> None:
    """Keys would go to partitions where their state is not."""
    write(tmp_path, "p-audit-3")

    with pytest.raises(SettingsError) as caught:
        require_same_partitions(settings_of(tmp_path, 2))

    assert str(caught.value) == (
        f"ONEREPLY_PARTITIONS is 2, and the data in {tmp_path} was written with 4. Set "
        "ONEREPLY_PARTITIONS=4, or name another folder: ONEREPLY_DATA_DIR (--data-dir)."
    )
