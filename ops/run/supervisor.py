"""Keeps the parts of a run going: one that ends is started again, and that is said.

Owns: the restarts, and the pause while the disk has no room.
May not: give up in silence. What is not started again is named, with the reason.
"""

import time
from collections.abc import Callable
from typing import Final

from ops.kafka.errors import BrokerAway
from ops.kafka.room import KEEP_MB, START_MB, Free, free_mb, full_sentence
from ops.kafka.telling import Teller
from ops.run.part import Ended, Ready
from ops.run.pipeline import Pipeline
from ops.run.plan import KAFKA, STAGES
from ops.run.restarts import FINAL_CODES, Restarts
from ops.run.words import ended_sentence

# How often Kafka's process and the disk are looked at; the parts tell by themselves.
LOOK_S: Final = 1.0
# All stages but write, which Faust's own client serves.
TRANSACTIONAL: Final = tuple(name for name in STAGES if name != "write")
# An idle stage ends within its poll of 0.1 s; one that hangs is killed, and loses nothing by it.
RENEW_DEADLINE_S: Final = 2.0

Clock = Callable[[], float]


class Supervisor:
    """Watches a pipeline that is up."""

    def __init__(
        self,
        pipeline: Pipeline,
        teller: Teller,
        *,
        clock: Clock = time.monotonic,
        free: Free = free_mb,
    ) -> None:
        self._pipeline, self._teller = pipeline, teller
        self._clock, self._free = clock, free
        self._restarts = dict.fromkeys((*pipeline.parts, KAFKA), Restarts())
        # Since when a part works; one that was started and is not up yet is not named.
        self._up_at = dict.fromkeys((*pipeline.parts, KAFKA), clock())
        self._due_at: dict[str, float] = {}
        self._awaited: set[str] = set()
        # What is to be started when there is room again; None while there is.
        self._paused: set[str] | None = None
        self._is_log_loss_told = False

    def watch(self) -> None:
        """Keep everything going until interrupted."""
        while True:
            self.step()

    def step(self) -> None:
        """Wait for the next end, at most until something is to be looked at; then see to it."""
        now = self._clock()
        next_due_s = min((at - now for at in self._due_at.values()), default=LOOK_S)
        happening = self._pipeline.next_happening(max(0.001, min(next_due_s, LOOK_S)))
        if isinstance(happening, Ready):
            self._up_at[happening.name] = self._clock()
            if happening.name in self._awaited:
                self._awaited.discard(happening.name)
                self._teller.say(f"{happening.name} works again.")
        if not self._has_room():
            if isinstance(happening, Ended) and self._paused is not None:
                self._paused.add(happening.name)
            return
        if isinstance(happening, Ended):
            self._see_to(happening)
        self._look_at_kafka()
        self._look_at_logs()
        for name in [name for name, at in self._due_at.items() if at <= self._clock()]:
            self._start_again(name)

    def _has_room(self) -> bool:
        """Whether the disk has room to go on. Where not, everything is stopped and waits for it."""
        folder = self._pipeline.plan.folder.data_dir
        free = self._free(folder)
        if self._paused is None and free < KEEP_MB:
            full = full_sentence(folder, free=free, needed_mb=KEEP_MB)
            self._teller.say(f"{full} Everything stops, and starts again at {START_MB} MB free.")
            self._pause()
        elif self._paused is not None and free >= START_MB:
            self._teller.say(f"There is room again ({free} MB free): everything starts again.")
            self._resume(self._paused)
        return self._paused is None

    def _pause(self) -> None:
        parts = self._pipeline.parts
        self._paused = {*self._due_at, *(name for name in parts if parts[name].is_running)}
        if self._pipeline.plan.broker.is_ours:
            self._paused.add(KAFKA)
        self._due_at.clear()
        self._awaited.clear()
        self._pipeline.pause()
        self._teller.calm()

    def _resume(self, paused: set[str]) -> None:
        self._paused, now = None, self._clock()
        parts = self._pipeline.parts
        ended = [name for name in parts if name in paused and not parts[name].is_running]
        # Kafka first: a stage ends where it does not answer.
        self._due_at = dict.fromkeys([KAFKA, *ended] if KAFKA in paused else ended, now)
        self._restarts = dict.fromkeys(self._restarts, Restarts())

    def _see_to(self, ended: Ended) -> None:
        sentence = ended_sentence(ended.name, ended.code, ended.reason)
        if ended.code in FINAL_CODES:
            self._teller.say(f"{sentence}; not started again: this needs you. The rest goes on.")
            return
        self._plan_restart(ended.name, sentence)

    def _look_at_kafka(self) -> None:
        if KAFKA in self._due_at:
            return
        try:
            self._pipeline.plan.broker.require_running()
        except BrokerAway:
            # Its log's last error is often another one; a start that fails gives the reason.
            self._plan_restart(KAFKA, f"{KAFKA} ended")

    def _look_at_logs(self) -> None:
        dropped = any(part.log.dropped for part in self._pipeline.parts.values())
        if dropped and not self._is_log_loss_told:
            self._is_log_loss_told = True
            folder = self._pipeline.plan.folder.logs
            self._teller.say(f"Log lines could not be written to {folder}: is the disk full?")

    def _plan_restart(self, name: str, sentence: str) -> None:
        now = self._clock()
        restarts = self._restarts[name].after_end(worked_s=now - self._up_at.get(name, now))
        self._restarts[name] = restarts
        self._due_at[name] = now + restarts.wait_s
        when = f"starts again in {restarts.wait_s:.0f} s" if restarts.wait_s else "started again"
        self._teller.say(f"{sentence}; {when} ({restarts.count})")

    def _start_again(self, name: str) -> None:
        del self._due_at[name]
        self._up_at.pop(name, None)
        if name != KAFKA:
            self._start_part(name)
            return
        try:
            self._pipeline.plan.broker.start_again()
        except BrokerAway as error:
            self._plan_restart(KAFKA, str(error).removesuffix("."))
        else:
            self._up_at[KAFKA] = self._clock()
            self._teller.say(f"{KAFKA} works again; the stages start anew on it.")
            self._renew_stages()

    def _renew_stages(self) -> None:
        """Start the stages again that write transactions, whether they noticed anything or not.

        librdkafka (its issue 5511) waits for ever for the group's coordinator once a metadata
        answer came without that broker, as the first ones of a broker that starts do.
        """
        parts = [self._pipeline.parts[name] for name in TRANSACTIONAL if self._runs(name)]
        for part in parts:
            part.terminate()
        for part in parts:
            if not part.has_ended(RENEW_DEADLINE_S):
                part.kill()
            self._start_part(part.name)

    def _start_part(self, name: str) -> None:
        self._up_at.pop(name, None)
        self._awaited.add(name)
        self._pipeline.start_parts(name)

    def _runs(self, name: str) -> bool:
        return name in self._pipeline.parts and self._pipeline.parts[name].is_running
