from datetime import UTC, datetime, timedelta

import pytest

from processors.core.times import ABSURD, FUTURE, MISSING, UNPARSABLE, Instant, Numbers, instant_of

NOW_MS = 1_767_607_200_000  # 2026-01-05T10:00:00Z
NOW_NS = NOW_MS * 1_000_000
SECOND = 1_000_000_000
BEFORE_2017 = 1_483_228_800 * SECOND


def clamped(mark: str) -> Instant:
    """The receipt time, with the mark that says why."""
    return Instant(NOW_NS, mark)


READ = {
    "utc": ("2026-01-05T10:00:00Z", NOW_NS),
    "one fraction digit": ("2026-01-05T10:00:00.5Z", NOW_NS + 500_000_000),
    "leading zero in the fraction": ("2026-01-05T10:00:00.05Z", NOW_NS + 50_000_000),
    "milliseconds": ("2026-01-05T10:00:00.069Z", NOW_NS + 69_000_000),
    "microseconds": ("2026-01-05T10:00:00.000001Z", NOW_NS + 1_000),
    "nanoseconds": ("2026-01-05T10:00:00.500000002Z", NOW_NS + 500_000_002),
    "more than nanoseconds": ("2026-01-05T10:00:00.1234567899999Z", NOW_NS + 123_456_789),
    "a long tail of digits": ("2026-01-05T10:00:00." + "0" * 500 + "Z", NOW_NS),
    "lower case": ("2026-01-05t10:00:00.6z", NOW_NS + 600_000_000),
    "a space for the T": ("2026-01-05 10:00:00Z", NOW_NS),
    "offset ahead": ("2026-01-05T12:30:00+02:30", NOW_NS),
    "offset behind": ("2026-01-05T02:00:00-08:00", NOW_NS),
    "offset over midnight": ("2026-01-06T09:59:00+23:59", NOW_NS),
    "offset zero": ("2026-01-05T10:00:00+00:00", NOW_NS),
    "offset unknown, time in utc": ("2026-01-05T10:00:00-00:00", NOW_NS),
    "fraction and offset": ("2026-01-05T11:00:00.25+01:00", NOW_NS + 250_000_000),
    "leap day": ("2024-02-29T00:00:00Z", 1_709_164_800 * SECOND),
    "leap day of a century": ("2000-02-29T00:00:00Z", 951_782_400 * SECOND),
    "leap second": ("2016-12-31T23:59:60Z", BEFORE_2017 - 1),
    "leap second elsewhere": ("2016-12-31T15:59:60-08:00", BEFORE_2017 - 1),
    "leap second with a fraction": ("2016-12-31T23:59:60.7Z", BEFORE_2017 - 1),
    "leap second of a june": ("2015-06-30T23:59:60Z", 1_435_708_800 * SECOND - 1),
    "the floor": ("2000-01-01T00:00:00Z", 946_684_800 * SECOND),
    "five minutes ahead": ("2026-01-05T10:05:00Z", NOW_NS + 300 * SECOND),
}
MARKED = {
    "nothing": (None, MISSING),
    "empty": ("", MISSING),
    "blank": (" \t", MISSING),
    "no offset": ("2026-01-05T10:00:00", UNPARSABLE),
    "no offset, a fraction": ("2026-01-05T10:00:00.123", UNPARSABLE),
    "date only": ("2026-01-05", UNPARSABLE),
    "no seconds": ("2026-01-05T10:00Z", UNPARSABLE),
    "basic form": ("20260105T100000Z", UNPARSABLE),
    "offset without a colon": ("2026-01-05T10:00:00+0100", UNPARSABLE),
    "offset of hours": ("2026-01-05T10:00:00+01", UNPARSABLE),
    "offset of a day": ("2026-01-05T10:00:00+24:00", UNPARSABLE),
    "offset of sixty minutes": ("2026-01-05T10:00:00+01:60", UNPARSABLE),
    "named zone": ("2026-01-05T10:00:00 UTC", UNPARSABLE),
    "two zones": ("2026-01-05T10:00:00Z+01:00", UNPARSABLE),
    "comma fraction": ("2026-01-05T10:00:00,5Z", UNPARSABLE),
    "a dot and no digits": ("2026-01-05T10:00:00.Z", UNPARSABLE),
    "hour 24": ("2026-01-05T24:00:00Z", UNPARSABLE),
    "minute 60": ("2026-01-05T10:60:00Z", UNPARSABLE),
    "second 61": ("2026-01-05T10:00:61Z", UNPARSABLE),
    "a 61st second at ten": ("2026-01-05T10:00:60Z", UNPARSABLE),
    "a 61st second in mid-month": ("2016-12-15T23:59:60Z", UNPARSABLE),
    "a 61st second where utc is not at its end": ("2016-12-31T23:59:60+01:00", UNPARSABLE),
    "a 61st second before there were any": ("1960-12-31T23:59:60Z", UNPARSABLE),
    "a 61st second at the end of time": ("9999-12-31T23:59:60Z", UNPARSABLE),
    "month 13": ("2026-13-05T10:00:00Z", UNPARSABLE),
    "day 30 of february": ("2026-02-30T10:00:00Z", UNPARSABLE),
    "leap day of no leap year": ("2026-02-29T10:00:00Z", UNPARSABLE),
    "year zero": ("0000-01-01T00:00:00Z", UNPARSABLE),
    "five-digit year": ("12026-01-05T10:00:00Z", UNPARSABLE),
    "mail form": ("Mon, 05 Jan 2026 10:00:00 +0000", UNPARSABLE),
    "digits of another script": ("２０２６-01-05T10:00:00Z", UNPARSABLE),  # noqa: RUF001  # the point
    "a line break behind": ("2026-01-05T10:00:00Z\n", UNPARSABLE),
    "a space before": (" 2026-01-05T10:00:00Z", UNPARSABLE),
    "words": ("yesterday", UNPARSABLE),
    "seconds as a number": (1_767_607_200, UNPARSABLE),
    "milliseconds as a number": (1_767_607_200_000, UNPARSABLE),
    "seconds as text": ("1767607200", UNPARSABLE),
    "a fraction as a number": (1_767_607_200.5, UNPARSABLE),
    "true": (True, UNPARSABLE),
    "a list": (["2026-01-05T10:00:00Z"], UNPARSABLE),
    "an object": ({"at": "2026-01-05T10:00:00Z"}, UNPARSABLE),
    "just over five minutes ahead": ("2026-01-05T10:05:00.000000001Z", FUTURE),
    "seventy years ahead": ("2096-03-17T05:32:00Z", FUTURE),
    "last instant": ("9999-12-31T23:59:59.999999999-23:59", FUTURE),
    "just before the floor": ("1999-12-31T23:59:59.999999999Z", ABSURD),
    "the epoch": ("1970-01-01T00:00:00Z", ABSURD),
    "first instant": ("0001-01-01T00:00:00+23:59", ABSURD),
}
IN_SECONDS = {
    "number": (1_767_607_200, Instant(NOW_NS)),
    "text": ("1767607200", Instant(NOW_NS)),
    "number with a fraction": (1_767_607_200.5, Instant(NOW_NS + 500_000_000)),
    "text with a fraction": ("1767607200.000000001", Instant(NOW_NS + 1)),
    "calendar form as well": ("2026-01-05T10:00:00Z", Instant(NOW_NS)),
    "zero": (0, clamped(ABSURD)),
    "negative": ("-5", clamped(ABSURD)),
    "milliseconds by mistake": (1_767_607_200_000, clamped(FUTURE)),
    "true": (True, clamped(UNPARSABLE)),
    "not a number": (float("nan"), clamped(UNPARSABLE)),
    "infinite": (float("inf"), clamped(UNPARSABLE)),
    "past any calendar": (10**40, clamped(UNPARSABLE)),
    "exponent": ("1e9", clamped(UNPARSABLE)),
    "underscores": ("1_767_607_200", clamped(UNPARSABLE)),
    "other digits": ("١٧٦٧٦٠٧٢٠٠", clamped(UNPARSABLE)),
    "a list": ([1_767_607_200], clamped(UNPARSABLE)),
}


@pytest.mark.parametrize(("given", "ns"), READ.values(), ids=READ.keys())
def test_rfc_3339_is_read_to_the_nanosecond(given: str, ns: int) -> None:
    """Two mails of one second have an order, and every legal spelling means one instant."""
    assert instant_of(given, received_at_ms=NOW_MS) == Instant(ns)


@pytest.mark.parametrize(("given", "mark"), MARKED.values(), ids=MARKED.keys())
def test_what_is_no_sure_instant_is_the_receipt_time_and_says_so(given: object, mark: str) -> None:
    """A guess would order a customer's mails wrongly without anybody knowing."""
    assert instant_of(given, received_at_ms=NOW_MS) == clamped(mark)


@pytest.mark.parametrize(("given", "expected"), IN_SECONDS.values(), ids=IN_SECONDS.keys())
def test_numbers_count_where_the_contract_says_what_they_count(
    given: object, expected: Instant
) -> None:
    """Some providers write seconds; reading those of others as seconds would be a guess."""
    found = instant_of(given, received_at_ms=NOW_MS, numbers=Numbers.SECONDS)

    assert found == expected


def test_milliseconds_are_their_own_contract() -> None:
    """The same digits name another instant where the contract says milliseconds."""
    found = instant_of(NOW_MS, received_at_ms=NOW_MS, numbers=Numbers.MILLISECONDS)

    assert found == Instant(NOW_NS)


def test_a_leap_second_stands_between_its_neighbours() -> None:
    """It must not sort before the second that it follows, nor after the day that it ends."""
    names = ("2016-12-31T23:59:59.9Z", "2016-12-31T23:59:60Z", "2017-01-01T00:00:00Z")

    found = [instant_of(name, received_at_ms=NOW_MS).ns for name in names]

    assert found == sorted(set(found))


def test_moments_of_a_leap_year_are_where_the_calendar_has_them() -> None:
    """The arithmetic is our own, so it is compared with the calendar's."""
    start = datetime(2024, 1, 1, tzinfo=UTC)
    moments = [start + timedelta(hours=7 * step, seconds=step) for step in range(1_250)]

    found = [instant_of(each.isoformat(), received_at_ms=NOW_MS).ns for each in moments]

    assert found == [int(each.timestamp()) * SECOND for each in moments]
