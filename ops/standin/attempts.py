"""Every attempt of a client, whatever came of it.

Owns: what is kept of a request, and how it ended.
May not: keep more than its limit; the oldest go first, the total goes on counting.
"""

from collections import OrderedDict
from datetime import datetime
from typing import Final

from msgspec import Struct, structs

KEPT: Final = 100_000


class Attempt(Struct, frozen=True, kw_only=True):
    """One request under /v0. Without `end` it is still running."""

    number: int
    at: datetime
    operation: str
    inbox_id: str | None
    message_id: str | None
    idempotency_key: str | None
    body_sha256: str
    fault: str | None = None
    status: int | None = None
    end: str | None = None


class Attempts:
    """The latest attempts in the order of arrival."""

    def __init__(self) -> None:
        self._kept: OrderedDict[int, Attempt] = OrderedDict()
        self.total = 0
        self.ended = 0

    def begin(self, attempt: Attempt) -> None:
        """Keep it. The number must be the total so far, plus one."""
        self.total = attempt.number
        self._kept[attempt.number] = attempt
        if len(self._kept) > KEPT:
            self._kept.popitem(last=False)

    def meet(self, number: int, fault: str) -> None:
        """The attempt met this fault."""
        if number in self._kept:
            self._kept[number] = structs.replace(self._kept[number], fault=fault)

    def settle(self, number: int, *, end: str, status: int | None) -> None:
        """The attempt ended like this: answered with a status, cut, or left by its client."""
        self.ended += 1
        if number in self._kept:
            self._kept[number] = structs.replace(self._kept[number], end=end, status=status)

    def kept(self) -> tuple[Attempt, ...]:
        """The attempts, oldest first."""
        return tuple(self._kept.values())
