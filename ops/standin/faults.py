"""Faults on order: what the next requests meet instead of a plain answer.

Owns: the kinds of fault, which request meets one, and the queue of those still to come.
May not: act; the operations do what the fault says.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, Any, Final

from msgspec import Meta, Struct, structs

# Longer than any deadline of ours, short enough that a forgotten hold ends by itself.
LONGEST_WAIT_SECONDS: Final = 600
MAX_QUEUED: Final = 10_000


class Kind(StrEnum):
    """What happens to the request."""

    STATUS = "status"
    DROP = "drop"
    DELAY = "delay"
    HOLD_THEN_ACCEPT = "hold_then_accept"
    ACCEPT_THEN_HOLD = "accept_then_hold"
    ACCEPT_THEN_DROP = "accept_then_drop"
    ACCEPT_THEN_STATUS = "accept_then_status"


class Operation(StrEnum):
    """What the request asks for."""

    ANY = "any"
    REPLY = "reply"
    REPLY_ALL = "reply-all"
    SEND = "send"
    LIST = "list"
    MESSAGE = "message"
    THREAD = "thread"
    WEBHOOKS = "webhooks"


SENDS: Final = (Operation.REPLY, Operation.REPLY_ALL, Operation.SEND)
ONLY_SENDS: Final = (
    Kind.HOLD_THEN_ACCEPT,
    Kind.ACCEPT_THEN_HOLD,
    Kind.ACCEPT_THEN_DROP,
    Kind.ACCEPT_THEN_STATUS,
)


class Fault(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One fault and whom it meets. Without ids it meets any request of its operation."""

    kind: Kind
    operation: Operation = Operation.ANY
    times: Annotated[int, Meta(ge=1, le=1_000_000)] = 1
    status: Annotated[int, Meta(ge=200, le=599)] = 500
    code: str | None = None
    body: dict[str, Any] | None = None
    retry_after: str | None = None
    seconds: Annotated[float, Meta(ge=0, le=LONGEST_WAIT_SECONDS)] = 60.0
    key_busy_seconds: Annotated[float, Meta(ge=0, le=LONGEST_WAIT_SECONDS)] = 0.0
    message_id: str | None = None
    idempotency_key: str | None = None

    def meets(self, operation: Operation, message_id: str | None, key: str | None) -> bool:
        """Whether a request like this one is meant."""
        if self.operation not in {Operation.ANY, operation}:
            return False
        if self.kind in ONLY_SENDS and operation not in SENDS:
            return False
        is_its_message = self.message_id in {None, message_id}
        return is_its_message and self.idempotency_key in {None, key}


class TooManyFaults(Exception):
    """More faults than the queue holds. None was added."""


class Faults:
    """The faults still to come, first come first met."""

    def __init__(self) -> None:
        self._queue: list[Fault] = []

    def add(self, faults: Iterable[Fault]) -> None:
        """Put these behind those that wait. Raises TooManyFaults and adds none past the limit."""
        more = tuple(faults)
        if len(self._queue) + len(more) > MAX_QUEUED:
            raise TooManyFaults(f"at most {MAX_QUEUED} faults can wait")
        self._queue.extend(more)

    def take(
        self, operation: Operation, *, message_id: str | None, key: str | None
    ) -> Fault | None:
        """The first fault that meets this request, used up by one; None when there is none."""
        for place, fault in enumerate(self._queue):
            if not fault.meets(operation, message_id, key):
                continue
            if fault.times == 1:
                del self._queue[place]
            else:
                self._queue[place] = structs.replace(fault, times=fault.times - 1)
            return fault
        return None

    def waiting(self) -> tuple[Fault, ...]:
        """The faults still to come."""
        return tuple(self._queue)

    def clear(self) -> None:
        """Forget them all."""
        self._queue.clear()
