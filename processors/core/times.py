"""A payload's own word on when it happened, read strictly.

Owns: the grammar (RFC 3339), the units that a contract may allow besides, and the four marks.
May not: guess. What is not an instant beyond doubt is clamped to the receipt time and says so.
"""

import re
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from typing import Final, NamedTuple

MISSING: Final = "missing"
UNPARSABLE: Final = "unparsable"
FUTURE: Final = "future"
ABSURD: Final = "absurd"

SECOND_NS: Final = 1_000_000_000
_MS_NS: Final = 1_000_000
_DAY_S: Final = 86_400
_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001  # both ends of a difference in UTC
# A sender's clock may run ahead by minutes; beyond that its time would outrank all later mail.
_AHEAD_NS: Final = 300 * SECOND_NS
# 2000-01-01: before it lie the defaults of broken clocks (1970, 1980), and no mail of ours.
_FLOOR_NS: Final = 946_684_800 * SECOND_NS

# RFC 3339 5.6, its note included: T and Z in either case, and a space where the T stands.
_RFC_3339: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ](?:[01][0-9]|2[0-3]):[0-5][0-9]:(?:[0-5][0-9]|60)"
    r"(?:\.([0-9]+))?(?:[Zz]|([+-])([01][0-9]|2[0-3]):([0-5][0-9]))"
)
_NUMBER: Final = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]+)?")
# Past any calendar, in whatever unit.
_LARGEST: Final = 10**15
# UTC has had leap seconds since 1972. One stands between 59.999 999 999 and the next day, where
# counting from 1970 has no value left: it shares the last nanosecond before it.
_FIRST_LEAP_YEAR: Final = 1972
_LEAP_NS: Final = SECOND_NS - 1


class Numbers(Enum):
    """What a bare number means under a provider's contract, in nanoseconds a unit."""

    REFUSED = 0
    SECONDS = SECOND_NS
    MILLISECONDS = _MS_NS


class Instant(NamedTuple):
    """Nanoseconds since 1970 (UTC) as clamped, and why they are not the payload's own, if so."""

    ns: int
    mark: str | None = None


def instant_of(
    value: object, *, received_at_ms: int, numbers: Numbers = Numbers.REFUSED
) -> Instant:
    """The instant that a payload names, or the receipt time with a mark. Never raises."""
    ns, received_ns = _parsed(value, numbers), received_at_ms * _MS_NS
    if ns is None:
        is_missing = value is None or (isinstance(value, str) and not value.strip())
        return Instant(received_ns, MISSING if is_missing else UNPARSABLE)
    if ns > received_ns + _AHEAD_NS:
        return Instant(received_ns, FUTURE)
    if ns < _FLOOR_NS:
        return Instant(received_ns, ABSURD)
    return Instant(ns, None)


def _parsed(value: object, numbers: Numbers) -> int | None:
    if isinstance(value, str) and (found := _RFC_3339.fullmatch(value)) is not None:
        return _calendar(value, found)
    if numbers is Numbers.REFUSED or isinstance(value, bool):
        return None
    return _scaled(value, numbers.value) if isinstance(value, str | int | float) else None


def _calendar(text: str, found: re.Match[str]) -> int | None:
    fraction, sign, ahead_hours, ahead_minutes = found.groups()
    is_leap = text[17:19] == "60"
    seconds = _seconds_to(f"{text[:17]}59" if is_leap else text[:19])
    if seconds is None:
        return None
    if sign is not None:
        ahead = int(ahead_hours) * 3600 + int(ahead_minutes) * 60
        seconds -= ahead if sign == "+" else -ahead
    if is_leap:
        is_possible = _FIRST_LEAP_YEAR <= int(text[:4]) < date.max.year and _ends_month(seconds + 1)
        return seconds * SECOND_NS + _LEAP_NS if is_possible else None
    if fraction is None:
        return seconds * SECOND_NS
    return seconds * SECOND_NS + int(fraction[:9].ljust(9, "0"))


# Most records of a batch lie in few seconds.
@lru_cache(maxsize=4096)
def _seconds_to(moment: str) -> int | None:
    """Seconds from 1970 to this date and time of UTC; None where there is no such day."""
    try:
        since = datetime.fromisoformat(moment) - _EPOCH
    except ValueError:
        return None
    return since.days * _DAY_S + since.seconds


def _ends_month(seconds: int) -> bool:
    """A 61st second exists in the last minute of a UTC month only (RFC 3339 5.7)."""
    return seconds % _DAY_S == 0 and (_EPOCH + timedelta(seconds=seconds)).day == 1


def _scaled(value: str | float, unit_ns: int) -> int | None:
    if isinstance(value, int):
        return value * unit_ns if abs(value) < _LARGEST else None
    text = value if isinstance(value, str) else repr(value)
    return int(Decimal(text) * unit_ns) if _NUMBER.fullmatch(text) else None
