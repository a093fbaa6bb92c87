"""When to try again: the backoff of one reply, of a paused account, and what the provider said.

Owns: every wait between two calls, with its reason.
May not: use chance. Jitter is a hash of what is retried, so a decision made again is the same.
"""

import re
from datetime import UTC, datetime
from hashlib import sha256
from typing import Final

from schemas.keys import framed

SECOND_MS: Final = 1_000
HOUR_MS: Final = 3_600 * SECOND_MS

BACKOFF_BASE_MS: Final = SECOND_MS
BACKOFF_CAP_MS: Final = 300 * SECOND_MS
# Past this exponent the cap holds anyway, and numbers stay small.
_MOST_DOUBLINGS: Final = 20

# A provider may ask for a long wait, and may err: an hour is longer than any documented rate
# window, and short enough that one wrong header does not cost a reply its day.
RETRY_AFTER_CAP_MS: Final = HOUR_MS

# One probe a minute costs nothing, and a mended account is noticed within it.
ACCOUNT_PAUSE_CAP_MS: Final = 60 * SECOND_MS
# A started kill switch is noticed within five seconds.
STOP_PAUSE_CAP_MS: Final = 5 * SECOND_MS

# AgentMail's 409 may mean "still running": five repeats spread over a minute, then look.
CONFLICT_WAITS_MS: Final = tuple(seconds * SECOND_MS for seconds in (2, 5, 10, 18, 25))

_SECONDS: Final = re.compile(r"[0-9]{1,9}")
_TOO_MANY_SECONDS: Final = re.compile(r"[0-9]{10,}")
# RFC 9110 5.6.7: IMF-fixdate, and the two forms that a recipient must still accept.
_DATES: Final = (
    re.compile(
        r"[A-Z][a-z]{2}, (?P<day>\d{2}) (?P<month>[A-Z][a-z]{2}) (?P<year>\d{4})"
        r" (?P<time>\d{2}:\d{2}:\d{2}) GMT",
        re.ASCII,
    ),
    re.compile(
        r"[A-Z][a-z]{5,8}, (?P<day>\d{2})-(?P<month>[A-Z][a-z]{2})-(?P<year>\d{2})"
        r" (?P<time>\d{2}:\d{2}:\d{2}) GMT",
        re.ASCII,
    ),
    re.compile(
        r"[A-Z][a-z]{2} (?P<month>[A-Z][a-z]{2}) (?P<day>[ \d]\d)"
        r" (?P<time>\d{2}:\d{2}:\d{2}) (?P<year>\d{4})",
        re.ASCII,
    ),
)
_MONTHS: Final = (
    *("Jan", "Feb", "Mar", "Apr", "May", "Jun"),
    *("Jul", "Aug", "Sep", "Oct", "Nov", "Dec"),
)
_CENTURY: Final = 100
# RFC 9110 5.6.7: a two-digit year more than 50 years ahead is one of the last century.
_AHEAD_YEARS: Final = 50


def chance(*parts: str) -> float:
    """A number in [0, 1) that these parts always give, and others hardly ever."""
    return int.from_bytes(sha256(framed(*parts)).digest()[:6], "big") / (1 << 48)


def backoff_ms(key: str, attempt: int) -> int:
    """Full jitter under `min(300 s, 1 s * 2^attempt)`: who fails together does not return so."""
    ceiling = min(BACKOFF_CAP_MS, BACKOFF_BASE_MS * 2 ** min(attempt, _MOST_DOUBLINGS))
    return int(ceiling * chance("backoff", key, str(attempt)))


def pause_ms(gate: str, streak: int, *, longest_ms: int) -> int:
    """How long a gate stays closed the streak-th time in a row: at least half of the doubling."""
    whole = min(longest_ms, SECOND_MS // 2 * 2 ** min(streak, _MOST_DOUBLINGS))
    return int(whole * (1 + chance("pause", gate, str(streak))) / 2)


def conflict_wait_ms(conflicts: int) -> int | None:
    """The wait after this many 409s, or None: enough were seen, look instead."""
    return CONFLICT_WAITS_MS[conflicts - 1] if conflicts <= len(CONFLICT_WAITS_MS) else None


def told_ms(retry_after: str | None, *, now_ms: int) -> int | None:
    """The wait that a Retry-After asks for, capped; None where it says nothing that counts.

    Whole seconds or one of HTTP's three date forms (RFC 9110 10.2.3). A time that has passed, or
    anything else, leaves the wait to the backoff.
    """
    value = "" if retry_after is None else retry_after.strip()
    if _TOO_MANY_SECONDS.fullmatch(value):
        return RETRY_AFTER_CAP_MS
    if _SECONDS.fullmatch(value):
        wait_ms = int(value) * SECOND_MS
    else:
        due_ms = _http_date_ms(value, now_ms=now_ms)
        wait_ms = 0 if due_ms is None else due_ms - now_ms
    return min(wait_ms, RETRY_AFTER_CAP_MS) if wait_ms > 0 else None


def _http_date_ms(value: str, *, now_ms: int) -> int | None:
    for form in _DATES:
        if (found := form.fullmatch(value)) is not None:
            return _instant_ms(found.groupdict(), now_ms=now_ms)
    return None


def _instant_ms(parts: dict[str, str], *, now_ms: int) -> int | None:
    hour, minute, second = (int(each) for each in parts["time"].split(":"))
    year = _full_year(parts["year"], now_ms=now_ms)
    try:
        # A leap second is the last second of its minute to a clock that has none.
        at = datetime(
            year,
            _MONTHS.index(parts["month"]) + 1,
            int(parts["day"]),
            hour,
            minute,
            min(second, 59),
            tzinfo=UTC,
        )
    except ValueError:
        return None
    return int(at.timestamp()) * SECOND_MS


def _full_year(year: str, *, now_ms: int) -> int:
    if len(year) > 2:  # noqa: PLR2004  # two digits, as RFC 850 wrote years
        return int(year)
    this_year = datetime.fromtimestamp(now_ms / SECOND_MS, UTC).year
    full = this_year // _CENTURY * _CENTURY + int(year)
    return full - _CENTURY if full > this_year + _AHEAD_YEARS else full
