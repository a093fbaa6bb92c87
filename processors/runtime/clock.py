"""Time as the stages see it: the broker's, carried on by the boot clock.

Owns: the boot clock (it goes on while the machine sleeps and nobody can set it).
May not: ask the wall clock more than once, at the start.
"""

import time


def boot_s() -> float:
    """Seconds since boot, sleep included."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def wall_ms() -> int:
    """The wall clock, milliseconds since 1970. For the start and for stores, never for order."""
    return time.time_ns() // 1_000_000


class BrokerClock:
    """The last LogAppendTime seen, plus the boot clock since. Never runs backwards.

    Until the broker has said anything the wall clock stands in. A record that was appended long
    ago says only that it is later than that, so the furthest estimate holds.
    """

    def __init__(self) -> None:
        self._ahead_ms = wall_ms() - boot_s() * 1000
        self._last_ms = 0
        self._is_guess = True

    def observe_ack(self, appended_ms: int) -> None:
        """The broker appended a record of ours just now."""
        ahead = appended_ms - boot_s() * 1000
        self._ahead_ms = ahead if self._is_guess else max(self._ahead_ms, ahead)
        self._is_guess = False

    def observe_record(self, appended_ms: int) -> None:
        """A record was read that the broker appended at that time, maybe long ago."""
        self._ahead_ms = max(self._ahead_ms, appended_ms - boot_s() * 1000)

    def now_ms(self) -> int:
        """Broker time."""
        self._last_ms = max(self._last_ms, int(self._ahead_ms + boot_s() * 1000))
        return self._last_ms
