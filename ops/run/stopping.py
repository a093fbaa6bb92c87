"""Parts are told to end, all at the same moment, and awaited within one bound.

Owns: how long each kind of part may take, and what becomes of one that takes longer.
May not: end Kafka, or decide that something ends.
"""

import time
from collections.abc import Callable, Sequence
from typing import Final

from ops.kafka.telling import Teller
from ops.run.part import Part
from ops.run.plan import DOOR, PROVIDER

# The door answers what it has in hand: its own grace is 15 s. A stage ends its batch; one whose
# broker hangs would wait longer, and loses nothing by being killed.
STOP_DEADLINES_S: Final = {DOOR: 20.0, PROVIDER: 10.0}
STAGE_STOP_DEADLINE_S: Final = 15.0
# With Kafka away there is no commit to make and no ack to wait for.
AWAY_STOP_DEADLINE_S: Final = 2.0
# How often it is looked at whether Kafka is still there for those that end.
LOOK_S: Final = 0.25


def end_parts(parts: Sequence[Part], *, is_kafka_away: Callable[[], bool], teller: Teller) -> None:
    """Return when none of them runs: each has ended well, or was killed at its bound.

    The bounds count from one moment, and shrink when Kafka goes away meanwhile.
    """
    running = [part for part in parts if part.is_running]
    for part in running:
        part.terminate()
    began = time.monotonic()
    while running:
        bounds_s = _bounds_s(running, is_kafka_away())
        names = ", ".join(part.name for part in running)
        teller.show(f"stopping {names} (at most {max(bounds_s.values()):.0f} s)")
        running[0].has_ended(LOOK_S)
        passed_s = time.monotonic() - began
        late = [part for part in running if part.is_running and passed_s >= bounds_s[part.name]]
        for part in late:
            part.kill()
        if late:
            names, limit_s = ", ".join(part.name for part in late), bounds_s[late[0].name]
            teller.say(f"Killed, for not ending in {limit_s:.0f} s: {names}.")
        running = [part for part in running if part.is_running]
    for part in parts:
        # Its process is gone: its last words are awaited.
        part.has_ended(LOOK_S)


def _bounds_s(parts: Sequence[Part], is_kafka_away: bool) -> dict[str, float]:  # noqa: FBT001  # a fact, not a switch
    usual = {part.name: STOP_DEADLINES_S.get(part.name, STAGE_STOP_DEADLINE_S) for part in parts}
    if not is_kafka_away:
        return usual
    return usual | {name: AWAY_STOP_DEADLINE_S for name in usual if name != PROVIDER}
