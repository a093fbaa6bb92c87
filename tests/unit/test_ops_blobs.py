from datetime import date

from ops.blobs import old_enough

DAYS = {
    date(2026, 1, 5): ["today"],
    date(2026, 1, 4): ["yesterday"],
    date(2026, 1, 3): ["c", "d"],
    date(2025, 12, 31): ["a"],
    date(2026, 1, 6): ["a clock that is ahead"],
}


def test_only_days_that_are_over_for_a_day_are_looked_at() -> None:
    """A blob of this hour may wait for its record, and one of last midnight too."""
    assert old_enough(DAYS, date(2026, 1, 5)) == ["a", "c", "d"]


def test_empty_store_has_nothing_to_remove() -> None:
    """Most have no large mail for days."""
    assert old_enough({}, date(2026, 1, 5)) == []
