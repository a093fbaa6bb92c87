"""A store whose process dies holds every row up to where it says it stands, and none after it."""

import multiprocessing
import os
from pathlib import Path

import pytest

from processors.runtime.rows import FORMAT, META_KEY, StoreMeta
from processors.runtime.store import Store, StoreCache

SLICE = 1_000
DEADLINE_S = 60
DIED = 9


def meta(next_changelog: int) -> StoreMeta:
    """What a store says of itself that stands there."""
    return StoreMeta(
        format=FORMAT,
        cluster_id="c",
        changelog_id="l",
        next_changelog=next_changelog,
        live_at_ms=1,
    )


def rows(first: int) -> list[tuple[bytes, bytes | None]]:
    """A slice of the changelog, of a megabyte."""
    return [(b"\x10%08d" % each, b"%08d" % each * 128) for each in range(first, first + SLICE)]


def restored_then_died(path: str, slices: int, written: int) -> None:
    """Restore so many slices, write so many more, and die without closing."""
    store = Store(Path(path), StoreCache(1 << 20))
    for number in range(slices):
        store.restore(rows(number * SLICE), meta((number + 1) * SLICE))
    if written:
        store.keep()
    for number in range(slices, slices + written):
        store.write(rows(number * SLICE), meta((number + 1) * SLICE))
    os._exit(DIED)


@pytest.mark.parametrize(
    ("slices", "written", "least"),
    [
        pytest.param(3, 0, 0, id="early-in-its-restore"),
        pytest.param(60, 0, 1, id="late-in-its-restore"),
        pytest.param(20, 3, 23 * SLICE, id="after-it-went-live"),
    ],
)
def test_store_whose_process_died_stands_where_it_says(
    tmp_path: Path, slices: int, written: int, least: int
) -> None:
    """A row that is missing below that place would never be read from the changelog again."""
    path = tmp_path / "0"
    child = multiprocessing.get_context("spawn").Process(
        target=restored_then_died, args=(str(path), slices, written)
    )
    child.start()
    child.join(DEADLINE_S)

    store = Store(path, StoreCache(1 << 20))
    found = store.meta()
    kept = [key for key, _ in store.scan(b"", META_KEY)]
    store.close()

    stands = 0 if found is None else found.next_changelog
    assert child.exitcode == DIED
    assert kept == [b"\x10%08d" % each for each in range(stands)]
    assert stands >= least
