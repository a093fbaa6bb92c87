"""Time as the stages see it: the broker's, carried on by the boot clock.

Owns: the boot clock (it goes on while the machine sleeps and nobody can set it).
May not: put the wall clock in the broker's place: a host's own may be days off.
"""

import logging
import time
from collections.abc import Callable
from typing import Final

from processors.runtime.steps import wall_shift_ms

LOG: Final = logging.getLogger("processors.clock")

# macOS has no clock of that name; its monotonic one counts sleep as well.
_BOOT: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
# Clocks of brokers differ by seconds, and a boot clock drifts by minutes a month.
LEAP_MS: Final = 5 * 60_000
# Who set a broker's clock by mistake has mended it by then. After it, the boot clock counts as the
# one that is wrong: that of a machine which was frozen and thawed stood still meanwhile.
BELIEVED_AFTER_S: Final = 3_600.0


def boot_s() -> float:
    """Seconds since boot, sleep included."""
    return time.clock_gettime(_BOOT)


def wall_ms() -> int:
    """The wall clock, milliseconds since 1970. For the age of stores and names, never for order."""
    return time.time_ns() // 1_000_000 + wall_shift_ms()


class BrokerClock:
    """The last LogAppendTime seen, plus the boot clock since. Never runs backwards.

    Not known until the broker has acked a record of ours. A record that was appended long ago says
    only that it is later than that, so the furthest estimate holds. A leap ahead of the boot clock
    is not believed before each ack of an hour has said the same; a leap back never is.
    """

    def __init__(self, clock_s: Callable[[], float] = boot_s) -> None:
        self._clock_s = clock_s
        self._ahead_ms: float | None = None
        self._leapt_at_s: float | None = None
        self.leaps = 0

    @property
    def is_known(self) -> bool:
        """Whether the broker has said what time it is."""
        return self._ahead_ms is not None

    def observe_ack(self, appended_ms: int) -> None:
        """The broker appended a record of ours just now."""
        now_s = self._clock_s()
        ahead_ms = appended_ms - now_s * 1000
        if self._ahead_ms is None:
            self._ahead_ms = ahead_ms
        elif ahead_ms - self._ahead_ms <= LEAP_MS:
            self._ahead_ms = max(self._ahead_ms, ahead_ms)
            self._leapt_at_s = None
        elif self._leapt_at_s is None or now_s - self._leapt_at_s < BELIEVED_AFTER_S:
            self._leapt_at_s = now_s if self._leapt_at_s is None else self._leapt_at_s
            self._doubt(ahead_ms - self._ahead_ms)
        else:
            LOG.warning("leap believed", extra={"leap_ms": round(ahead_ms - self._ahead_ms)})
            self._ahead_ms, self._leapt_at_s = ahead_ms, None

    def observe_record(self, appended_ms: int) -> None:
        """A record was read that the broker appended at that time, maybe long ago."""
        if self._ahead_ms is None:
            return
        ahead_ms = appended_ms - self._clock_s() * 1000
        if ahead_ms - self._ahead_ms <= LEAP_MS:
            self._ahead_ms = max(self._ahead_ms, ahead_ms)
        else:
            self._doubt(ahead_ms - self._ahead_ms)

    def _doubt(self, leap_ms: float) -> None:
        self.leaps += 1
        # The 1st, 2nd, 4th and so on: a broker whose clock is wrong says so with each record.
        if self.leaps & (self.leaps - 1) == 0:
            extra = {"leap_ms": round(leap_ms), "count": self.leaps}
            LOG.warning("broker clock leapt, not believed", extra=extra)

    def now_ms(self) -> int:
        """Broker time; 0 until it is known, when nothing is due."""
        return 0 if self._ahead_ms is None else int(self._ahead_ms + self._clock_s() * 1000)
