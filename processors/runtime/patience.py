"""How long a partition waits for a broker's answer before its worker gives up.

Owns: since when each partition waits, and the end of that.
May not: ask anything.
"""

import logging
from collections.abc import Callable
from typing import Final, NamedTuple

from confluent_kafka import KafkaException

from processors.runtime.clock import boot_s
from schemas.errors import Transient

LOG: Final = logging.getLogger("processors.patience")


class Wait(NamedTuple):
    """What a partition waits for, and since when by the boot clock."""

    reason: str
    since_s: float


class Patience:
    """The partitions that wait, and since when.

    What a client remembers of a broker that was away can be wrong for ever, so waiting ends; a new
    process has new clients.
    """

    def __init__(self, stage: str, *, most_s: float, clock_s: Callable[[], float] = boot_s) -> None:
        self._stage = stage
        self._most_s = most_s
        self._clock_s = clock_s
        self._waits: dict[int, Wait] = {}

    def waits(self, number: int, error: KafkaException) -> None:
        """The broker could not answer for this partition, which is tried again with the next poll.

        Raises Transient once it has waited for too long.
        """
        reason, now_s = error.args[0].name(), self._clock_s()
        wait = self._waits.get(number)
        if wait is None or wait.reason != reason:
            LOG.info(
                "partition waits for the broker", extra={"partition": number, "reason": reason}
            )
            wait = Wait(reason, since_s=now_s if wait is None else wait.since_s)
            self._waits[number] = wait
        if now_s - wait.since_s > self._most_s:
            raise Transient(
                f"{self._stage} partition {number}: no answer from the broker for "
                f"{now_s - wait.since_s:.0f} s ({error.args[0]})"
            )

    def is_answered(self, number: int) -> None:
        """It waits no more."""
        self._waits.pop(number, None)
