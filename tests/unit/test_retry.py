"""Every wait between two calls: bounded, repeatable, and as the provider asked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from processors.core.retry import (
    ACCOUNT_PAUSE_CAP_MS,
    BACKOFF_CAP_MS,
    CONFLICT_WAITS_MS,
    RETRY_AFTER_CAP_MS,
    STOP_PAUSE_CAP_MS,
    backoff_ms,
    conflict_wait_ms,
    pause_ms,
    told_ms,
)
from tests.turns import NOW_MS  # 2026-01-05T10:00:00Z, a Monday

SECOND_MS = 1_000


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120),
        (" 120 ", 120),
        ("Mon, 05 Jan 2026 10:02:00 GMT", 120),
        ("Monday, 05-Jan-26 10:02:00 GMT", 120),
        ("Mon Jan  5 10:02:00 2026", 120),
        ("Mon, 05 Jan 2026 10:01:60 GMT", 119),
        ("3600", 3600),
    ],
)
def test_retry_after_is_taken_as_told(value: str, seconds: int) -> None:
    """Seconds and the three date forms of RFC 9110 all mean a moment."""
    assert told_ms(value, now_ms=NOW_MS) == seconds * SECOND_MS


@pytest.mark.parametrize(
    "value",
    [
        None,
        "",
        "0",
        "soon",
        "-5",
        "+5",
        "1.5",
        "0x10",
        "1e3",
        "\u0661\u0662\u0660",
        "120, 120",
        "Mon, 05 Jan 2026 09:00:00 GMT",
        "Mon, 05 Jan 2026 10:00:00 GMT",
        "Mon, 05 Jan 2026 10:02:00 CET",
        "Mon, 05 Jan 2026 10:02:00",
        "Mon, 05 Foo 2026 10:02:00 GMT",
        "Mon, 35 Jan 2026 10:02:00 GMT",
        "Mon, 05 Jan 2026 25:02:00 GMT",
        "Mon, 05 Jan 0000 10:02:00 GMT",
        "Monday, 05-Jan-99 10:02:00 GMT",
        "Mon Jan  0 10:02:00 2026",
    ],
)
def test_retry_after_that_says_nothing_leaves_it_to_the_backoff(value: str | None) -> None:
    """A header that is odd, or names the past, must not become a retry at once."""
    assert told_ms(value, now_ms=NOW_MS) is None


@pytest.mark.parametrize(
    "value", ["999999999", "9" * 10, "9" * 5_000, "Fri, 05 Jan 2046 10:02:00 GMT"]
)
def test_retry_after_is_capped(value: str) -> None:
    """One wrong header must not keep a reply for years."""
    assert told_ms(value, now_ms=NOW_MS) == RETRY_AFTER_CAP_MS


@given(st.text(max_size=60))
def test_retry_after_of_any_text_is_none_or_a_wait(value: str) -> None:
    """The header comes from outside."""
    told = told_ms(value, now_ms=NOW_MS)

    assert told is None or 0 < told <= RETRY_AFTER_CAP_MS


@given(st.text(), st.integers(0, 10_000))
def test_backoff_is_below_its_ceiling_and_never_differs(key: str, attempt: int) -> None:
    """A decision that is made again after an abort must be the same one."""
    wait = backoff_ms(key, attempt)

    assert wait == backoff_ms(key, attempt)
    assert 0 <= wait < min(BACKOFF_CAP_MS, SECOND_MS * 2 ** min(attempt, 64))


def test_backoff_spreads_those_that_failed_together() -> None:
    """Five hundred replies that failed at one moment must not come back at one."""
    waits = sorted(backoff_ms(f"reply-{nth}", 12) for nth in range(500))

    assert waits[50] < BACKOFF_CAP_MS * 0.2
    assert waits[450] > BACKOFF_CAP_MS * 0.8


@pytest.mark.parametrize("longest_ms", [ACCOUNT_PAUSE_CAP_MS, STOP_PAUSE_CAP_MS])
def test_pause_doubles_up_to_its_cap(longest_ms: int) -> None:
    """A gate must neither hammer nor be forgotten."""
    pauses = [pause_ms("account/main", streak, longest_ms=longest_ms) for streak in range(1, 40)]

    assert all(
        min(longest_ms, 500 * 2**streak) // 2 <= pause <= min(longest_ms, 500 * 2**streak)
        for streak, pause in enumerate(pauses, start=1)
    )


def test_conflicts_are_repeated_five_times_over_a_minute() -> None:
    """A call of ours that still runs ends within that; whatever else it is does not."""
    waits = [conflict_wait_ms(conflicts) for conflicts in range(1, 8)]

    assert waits == [*CONFLICT_WAITS_MS, None, None]
    assert (len(CONFLICT_WAITS_MS), sum(CONFLICT_WAITS_MS)) == (5, 60 * SECOND_MS)
