"""The overlay against a plain dict."""

from collections.abc import Iterator, Sequence

from hypothesis import given
from hypothesis import strategies as st

from processors.runtime.overlay import Overlay

keys = st.binary(min_size=1, max_size=2)
writes = st.lists(st.tuples(keys, st.none() | st.binary(min_size=1, max_size=3)), max_size=20)


class Rows:
    """Committed rows in a dict."""

    def __init__(self, rows: dict[bytes, bytes]) -> None:
        self.rows = rows

    def get(self, key: bytes) -> bytes | None:
        """The row's bytes, or None."""
        return self.rows.get(key)

    def get_many(self, wanted: Sequence[bytes]) -> list[bytes | None]:
        """The rows' bytes in the order of the keys."""
        return [self.rows.get(key) for key in wanted]

    def scan(self, start: bytes, stop: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Rows from start up to but not including stop, in key order."""
        return iter(sorted((k, v) for k, v in self.rows.items() if start <= k < stop))


def applied(
    rows: dict[bytes, bytes], changes: list[tuple[bytes, bytes | None]]
) -> dict[bytes, bytes]:
    """The rows after these writes."""
    after = dict(rows)
    for key, value in changes:
        if value is None:
            after.pop(key, None)
        else:
            after[key] = value
    return after


@given(st.dictionaries(keys, st.binary(min_size=1)), writes, writes, st.tuples(keys, keys))
def test_batch_reads_its_own_writes_and_undoes_only_the_last(
    rows: dict[bytes, bytes],
    kept: list[tuple[bytes, bytes | None]],
    undone: list[tuple[bytes, bytes | None]],
    bounds: tuple[bytes, bytes],
) -> None:
    """One decision's failure must not touch what the batch decided before it."""
    overlay = Overlay(Rows(rows))
    overlay.prefetch(rows)
    for key, value in kept:
        overlay.put(key, value)
    list(overlay.scan(*sorted(bounds)))
    overlay.savepoint()
    for key, value in undone:
        overlay.put(key, value)
    overlay.undo()

    expected = applied(rows, kept)
    low, high = sorted(bounds)
    assert {key: overlay.get(key) for key in expected} == expected
    assert list(overlay.scan(low, high)) == sorted(
        (k, v) for k, v in expected.items() if low <= k < high
    )


@given(st.dictionaries(keys, st.binary(min_size=1)), writes, writes, st.tuples(keys, keys))
def test_scan_sees_rows_written_after_an_earlier_scan(
    rows: dict[bytes, bytes],
    first: list[tuple[bytes, bytes | None]],
    second: list[tuple[bytes, bytes | None]],
    bounds: tuple[bytes, bytes],
) -> None:
    """A chain that is released within one batch is found by scanning."""
    overlay = Overlay(Rows(rows))
    low, high = sorted(bounds)
    for key, value in first:
        overlay.put(key, value)
    list(overlay.scan(low, high))
    for key, value in second:
        overlay.put(key, value)

    expected = applied(rows, first + second)
    assert list(overlay.scan(low, high)) == sorted(
        (k, v) for k, v in expected.items() if low <= k < high
    )
