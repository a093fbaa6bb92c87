"""The runtime's own rows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from processors.core.turn import Timer
from processors.runtime.rows import (
    TIMERS_END,
    PositionRow,
    meta_of,
    packed,
    position_of,
    timer_key,
    timer_of,
    timers_from,
)

timers = st.builds(
    Timer,
    due_ms=st.integers(0, 1 << 62),
    kind=st.sampled_from(["grace", "lease", "a"]),
    id=st.text(max_size=20),
)


@given(timers)
def test_timer_is_read_back_from_its_key(timer: Timer) -> None:
    """The key is all that there is of a timer."""
    assert timer_of(timer_key(timer)) == timer


@given(timers, timers)
def test_timer_keys_lie_in_the_order_they_are_due(one: Timer, other: Timer) -> None:
    """A look at the first row must show what is due first."""
    if one.due_ms < other.due_ms:
        assert timer_key(one) < timer_key(other)
    assert timers_from(one.due_ms) <= timer_key(one) < TIMERS_END


def test_position_is_read_back() -> None:
    """A position survives its encoding."""
    row = PositionRow(topic_id="id", offset=7, stream_ms=9, replay="r")

    assert position_of(packed(row)) == row


@pytest.mark.parametrize("value", [None, b"", b"\xc1", b"junk"])
def test_store_that_cannot_say_what_it_is_counts_as_new(value: bytes | None) -> None:
    """A damaged memory leads to a rebuild, not to a crash."""
    assert meta_of(value) is None
