"""A store that is damaged is rebuilt; one that is in use or out of room is left alone."""

from pathlib import Path

import pytest

from processors.runtime.rows import FORMAT, StoreMeta
from processors.runtime.store import Store, StoreCache, StoreError, is_damage, open_store

META = StoreMeta(format=FORMAT, cluster_id="c", changelog_id="l", next_changelog=3, live_at_ms=1)
ROWS = [(b"\x10%06d" % number, bytes(100)) for number in range(2_000)]


@pytest.fixture
def cache() -> StoreCache:
    """Room for a few blocks."""
    return StoreCache(1 << 20)


def damaged_block(path: Path, cache: StoreCache) -> None:
    """A store whose only table file has one flipped byte in its first block."""
    store = Store(path, cache)
    store.write(ROWS, META)
    store.close()
    (table,) = path.glob("*.sst")
    content = bytearray(table.read_bytes())
    content[10] ^= 0xFF
    table.write_bytes(content)


def test_damage_found_when_a_row_is_read_leads_to_a_rebuild_at_the_next_start(
    tmp_path: Path, cache: StoreCache
) -> None:
    """The folder opens without complaint each time; without a note the stage would never go on."""
    path = tmp_path / "0"
    damaged_block(path, cache)
    store, reason_at_first = open_store(path, cache)
    with pytest.raises(StoreError, match="cannot be read"):
        store.get(ROWS[0][0])
    store.close()

    again, reason = open_store(path, cache)
    rows = list(again.scan(b"", b"\xff"))
    again.close()

    assert reason_at_first is None
    assert reason is not None
    assert reason.startswith("damaged: Corruption")
    assert rows == []


def test_store_is_rebuilt_for_its_damage_once(tmp_path: Path, cache: StoreCache) -> None:
    """What was rebuilt is whole again."""
    path = tmp_path / "0"
    damaged_block(path, cache)
    store, _ = open_store(path, cache)
    with pytest.raises(StoreError):
        store.get(ROWS[0][0])
    store.close()
    open_store(path, cache)[0].close()

    third, reason = open_store(path, cache)
    third.close()

    assert reason is None


def test_store_in_use_is_not_taken_for_damaged(tmp_path: Path, cache: StoreCache) -> None:
    """A folder may be called anything, also what RocksDB says of damage."""
    path = tmp_path / "corrupt-CURRENT" / "0"
    first = Store(path, cache)
    first.write(ROWS, META)

    with pytest.raises(StoreError, match="cannot be opened"):
        open_store(path, cache)
    kept = first.get(ROWS[0][0])
    first.close()

    assert kept == ROWS[0][1]


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Corruption: CURRENT file does not end with newline", True),
        ("IO error: No such file or directory: While opening: /s/MANIFEST-000005", True),
        ("IO error: No space left on device: While appending to file: /s/MANIFEST-000005", False),
        ("IO error: Too many open files: While open a file: /s/CURRENT", False),
    ],
)
def test_damage_is_told_from_a_disk_that_refuses(sentence: str, *, expected: bool) -> None:
    """A store on a full disk is whole: removing it would help nobody."""
    assert is_damage(sentence) == expected
