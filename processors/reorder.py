"""The REORDER stage: binds the order of threads to the runtime.

Owns: which settings become which rules.
May not: decide.
"""

from processors.core.reorder import keys_of, on_record, on_timer
from processors.core.reorder_rows import Rules, Wait
from processors.core.turn import Record, Timer, Turn
from processors.runtime.stage import Stage
from schemas.directory import Directory
from schemas.settings import Settings
from schemas.topics import Topic


def build(settings: Settings, directory: Directory) -> Stage:  # noqa: ARG001  # same for all stages
    """The stage under these settings."""
    rules = rules_of(settings)

    def decide_record(record: Record, turn: Turn) -> None:
        on_record(record, turn, rules)

    def decide_timer(timer: Timer, turn: Turn) -> None:
        on_timer(timer, turn, rules)

    return Stage(
        name="reorder",
        input=Topic.THREAD_EVENTS,
        changelog=Topic.REORDER_STATE,
        on_record=decide_record,
        on_timer=decide_timer,
        keys=keys_of,
        timer_limits_ms={
            Wait.GRACE: rules.grace_ms,
            Wait.PREDECESSOR: rules.predecessor_wait_ms,
            Wait.FETCH: rules.fetch_wait_ms,
        },
    )


def rules_of(settings: Settings) -> Rules:
    """How long REORDER waits, how much it holds, how long it remembers."""
    return Rules(
        grace_ms=settings.grace_ms,
        predecessor_wait_ms=settings.predecessor_wait_ms,
        fetch_wait_ms=settings.fetch_wait_ms,
        hold_per_thread=settings.hold_per_thread,
        hold_per_partition=settings.hold_per_partition,
        hold_bytes=settings.hold_bytes,
        horizon_ms=settings.identity_horizon_s * 1000,
    )
