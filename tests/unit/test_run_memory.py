"""What a data folder holds of topics that a broker does not know."""

from pathlib import Path

import pytest

from ops.run.memory import MemoryLost, held_partitions, held_stores, require_remembered
from schemas.settings import Settings, load_settings
from schemas.topics import Topic


def settings_in(folder: Path, **ours: str) -> Settings:
    """Settings with this data folder."""
    return load_settings(data_dir=str(folder), **ours)


def names_of(settings: Settings) -> list[str]:
    """All topics, by their full names."""
    return [settings.shape().name(topic) for topic in Topic]


def make_store(folder: Path, stage: str) -> None:
    """A store of a stage, as far as it is known from outside."""
    store = folder / "state" / stage / "worker-1" / "0"
    store.mkdir(parents=True)
    (store / "CURRENT").touch()


def test_partitions_are_found_under_their_name_and_moved_aside(tmp_path: Path) -> None:
    """A broker that does not know a partition renames it; a deleted one is rightly gone."""
    data = tmp_path / "kafka" / "cluster" / "node-1" / "data"
    for name in (
        "inbound-events-0",
        "inbound-events-12.0a1b2c-stray",
        "inbound-events-1.0a1b2c-delete",
        "x-inbound-events-0",
        "decisions-0",
        "__cluster_metadata-0",
    ):
        (data / name).mkdir(parents=True)

    found = held_partitions(tmp_path, {"inbound-events"})

    assert [*found] == ["inbound-events-0", "inbound-events-12.0a1b2c-stray"]


def test_broker_that_knows_no_topic_beside_filled_stores_is_refused(tmp_path: Path) -> None:
    """Stages would stop at topics that are not theirs, after mail was accepted into them."""
    settings = settings_in(tmp_path)
    make_store(tmp_path, "dedupe")
    make_store(tmp_path, "reorder")

    with pytest.raises(MemoryLost) as caught:
        require_remembered(settings, ())

    assert str(caught.value) == (
        f"Kafka knows none of the {len(Topic)} topics, and {tmp_path / 'state'} holds what "
        "dedupe, reorder made of them. No topic is made anew beside it; "
        'docs/operations.md says what to do ("A full disk").'
    )


def test_topic_that_a_new_release_brings_is_no_loss(tmp_path: Path) -> None:
    """Only what was there before can be lost."""
    settings = settings_in(tmp_path)
    make_store(tmp_path, "dedupe")

    require_remembered(settings, names_of(settings)[1:])


def test_first_start_has_nothing_to_lose(tmp_path: Path) -> None:
    """The usual case: an empty folder and an empty broker."""
    require_remembered(settings_in(tmp_path), ())


def test_stores_under_another_prefix_are_of_other_topics(tmp_path: Path) -> None:
    """Two installations may share a folder by their prefixes."""
    make_store(tmp_path, "dedupe")
    make_store(tmp_path, "blue-send")

    assert [*held_stores(settings_in(tmp_path, topic_prefix="blue-"))] == ["send"]
    require_remembered(settings_in(tmp_path, topic_prefix="green-"), ())
