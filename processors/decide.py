"""DECIDE: ordered events in, one decision a mail out, and an ask for each reply that is owed.

Owns: the binding of the core to the runtime.
May not: decide.
"""

from functools import partial

from processors.core.decide import take
from processors.core.decide_policy import Policy, policy_of
from processors.core.decide_rows import SWEEP, SWEEP_EVERY_MS, sweep
from processors.core.turn import Record, Timer, Turn
from processors.runtime.stage import Stage
from schemas.directory import Directory
from schemas.events import ORDERED_EVENT
from schemas.settings import Settings
from schemas.topics import Topic


def build(settings: Settings, directory: Directory) -> Stage:
    """The stage, ready to run.

    It names no keys beforehand: reading a batch's rows in one go is no faster than one by one
    (1.2 against 1.6 us a row), and naming them would mean to decode each event twice.
    """
    policy = policy_of(settings, directory)
    return Stage(
        name="decide",
        input=Topic.ORDERED_EVENTS,
        changelog=Topic.DECIDE_STATE,
        on_record=partial(_on_record, policy=policy),
        on_timer=partial(_on_timer, policy=policy),
        timer_limits_ms={SWEEP: SWEEP_EVERY_MS},
    )


def _on_record(record: Record, turn: Turn, *, policy: Policy) -> None:
    if record.value is None:
        # A deletion: what it deletes has been taken in long ago.
        return
    take(ORDERED_EVENT.decode(record.value), turn, policy=policy)


def _on_timer(_timer: Timer, turn: Turn, *, policy: Policy) -> None:
    sweep(turn, keep_ms=policy.keep_ms)
