from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from processors.core.times import Instant, Numbers, instant_of

NOW_MS = 1_767_607_200_000  # 2026-01-05T10:00:00Z
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

moments = st.datetimes(datetime(2000, 1, 2), datetime(2026, 1, 4))  # noqa: DTZ001  # zones are drawn apart
zones = st.integers(-23 * 60 - 59, 23 * 60 + 59).map(lambda m: timezone(timedelta(minutes=m)))
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(moments, zones)
def test_every_spelling_of_an_instant_is_that_instant(moment: datetime, zone: timezone) -> None:
    """Senders write in their own zone; order is by the instant."""
    aware = moment.replace(tzinfo=UTC)

    found = instant_of(aware.astimezone(zone).isoformat(), received_at_ms=NOW_MS)

    assert found == Instant((aware - EPOCH) // timedelta(microseconds=1) * 1_000)


@given(anything, st.sampled_from(Numbers), st.integers(0, 2**42))
def test_reading_a_time_is_total_and_never_ahead(
    value: object, numbers: Numbers, received_at_ms: int
) -> None:
    """Whatever stands there, the event has a place, at most five minutes past its receipt."""
    found = instant_of(value, received_at_ms=received_at_ms, numbers=numbers)

    received_ns = received_at_ms * 1_000_000
    assert found.ns <= received_ns + 300 * 10**9
    assert found.mark is None or found.ns == received_ns


@given(moments, st.text("0123456789", min_size=1, max_size=9), st.text("0123456789", max_size=9))
def test_longer_fractions_never_sort_before_shorter_ones(
    moment: datetime, digits: str, more: str
) -> None:
    """A fraction that goes on is later than the same fraction cut short."""
    stem = f"{moment:%Y-%m-%dT%H:%M:%S}."

    shorter = instant_of(f"{stem}{digits}Z", received_at_ms=NOW_MS)
    longer = instant_of(f"{stem}{digits}{more}Z", received_at_ms=NOW_MS)

    assert (longer.mark, shorter.mark) == (None, None)
    assert longer.ns >= shorter.ns
