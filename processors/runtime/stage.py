"""What a stage hands to the runtime: its topics and its decisions.

Owns: the seam between the shells and the loop.
May not: decide, or name a library.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from processors.core.turn import Effect, Record, Result, Timer, Turn
from schemas.topics import Topic


class Lease(Protocol):
    """How long an effect may still act, by the boot clock."""

    def is_alive(self) -> bool:
        """Whether the claim still holds. Look just before writing to the socket."""

    def seconds_left(self) -> float:
        """What is left of it; never negative. A call's own timeout must be shorter."""


def no_keys(_record: Record) -> Sequence[bytes]:
    """A stage that does not say beforehand what it will read."""
    return ()


def no_weight(_record: Record) -> int:
    """A stage that decides on what the record holds."""
    return 0


def ignore_timer(_timer: Timer, _turn: Turn) -> None:
    """A stage without timers."""


def ignore_result(_result: Result, _turn: Turn) -> None:
    """A stage without effects."""


async def close_nothing() -> None:
    """A stage whose effects keep nothing open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One stage. `on_record` raises Refused (or any Permanent) to set its record aside.

    `keys` names the rows that a record will need, so that a batch reads them in one go; what it
    does not name is read when asked for. `weight` says how many bytes a decision reads from
    elsewhere, so that a batch does not take too long. `perform` carries out one effect and returns
    an outcome, also for failures: what it raises is a bug, and counts as an unknown outcome when
    the lease timer fires. `close` ends what its calls keep open, in their event loop, after the
    last of them.
    `timer_limits_ms`: a timer of that kind due later than now plus this is due now.
    """

    name: str
    input: Topic
    changelog: Topic
    on_record: Callable[[Record, Turn], None]
    on_timer: Callable[[Timer, Turn], None] = ignore_timer
    on_result: Callable[[Result, Turn], None] = ignore_result
    keys: Callable[[Record], Sequence[bytes]] = no_keys
    weight: Callable[[Record], int] = no_weight
    perform: Callable[[Effect, Lease], Awaitable[Any]] | None = None
    close: Callable[[], Awaitable[None]] = close_nothing
    timer_limits_ms: Mapping[str, int] = field(default_factory=dict)
