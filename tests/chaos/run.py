"""A chaos run: the whole path on a broker of its own, struck by a plan, and then counted.

Owns: the order of a run, its progress lines and its logs.
May not: excuse anything. What cannot be counted is an error.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final

from ops.kafka.broker import LocalKafka
from tests.broker import DATA_DIR
from tests.chaos.load import Load
from tests.chaos.plan import Plan
from tests.chaos.verdict import Outcome, counted
from tests.chaos.victim import Victim
from tests.kept import Kept
from tests.pipeline import QUICK, Pipeline, pipeline

Say = Callable[[str], None]
LOOK_S, TELL_S = 0.1, 5.0
# A broker's restart, a transaction and a session that run out, a recovery: and all of it thrice.
STALL_S: Final = 150.0
# Two leases: a second answer, if there is one, is under way by then.
QUIET_S: Final = 2 * QUICK["lease_ms"] / 1000
# What is late is held for a person: no order may be given up because the broker was away.
PREDECESSOR_WAIT_MS: Final = 3_600_000


class Stalled(Exception):
    """Nothing happened for far too long. Says where things stand."""


class Run:
    """One run. `outcome` makes it and counts."""

    def __init__(self, plan: Plan, kafka: LocalKafka, *, whole: Pipeline, say: Say) -> None:
        self._plan = plan
        self._kafka = kafka
        self._whole = whole
        self._say = say
        self._began_s = time.monotonic()
        self._load = Load(whole, seed=plan.seed)
        self._pace = threading.Event()
        self._victims = {
            name: Victim(name, strikes, whole=whole, now_s=self.now_s)
            for name, strikes in plan.strikes.items()
        }
        self._kept = {
            name: Kept(whole.processes[name], victim) for name, victim in self._victims.items()
        }
        self._broker_kills = 0
        self._told_at_s = 0.0
        self._moved_at_s, self._last = 0.0, (-1, -1)

    def now_s(self) -> float:
        """Seconds since it began."""
        return time.monotonic() - self._began_s

    def outcome(self) -> Outcome:
        """Strike until the plan is done, let the path come to rest, and count. Raises Stalled."""
        self._load.start()
        try:
            while any(victim.is_left for victim in self._victims.values()):
                self._look()
                self._kill_the_broker()
            mails = self._load.end()
            owed = {mail.identity for mail in mails}
            self._rest(owed)
        finally:
            for kept in self._kept.values():
                kept.leave()
        exits = {name: Counter(kept.exit_codes) for name, kept in self._kept.items()}
        for name, process in self._whole.processes.items():
            exits[name][process.terminate()] += 1
        return Outcome(
            seed=self._plan.seed,
            landed=[struck for victim in self._victims.values() for struck in victim.landed],
            broker_kills=self._broker_kills,
            exits=exits,
            ids=counted(owed, self._whole.told(mails)),
            mails=counted(owed, self._whole.replies()),
            seconds=self.now_s(),
        )

    def _rest(self, owed: set[tuple[str, str]]) -> None:
        try:
            while not owed <= set(self._whole.replies()):
                self._look()
        except Stalled as error:
            # What is lost by now is counted by its name.
            self._say(str(error))
        # Nothing more may come, and only time can show it.
        self._pace.wait(QUIET_S)

    def _kills(self) -> int:
        landed = (each for victim in self._victims.values() for each in victim.landed)
        return sum(not struck.strike.is_pause for struck in landed)

    def _kill_the_broker(self) -> None:
        if self._broker_kills == len(self._plan.broker_kills):
            return
        due = self._plan.broker_kills[self._broker_kills]
        if self._kills() < due.after_kills:
            return
        self._say(f"{self.now_s():6.1f} s  the broker is killed")
        self._broker_kills += 1
        self._kafka.kill()
        self._pace.wait(due.away_s)
        self._kafka.start_node()

    def _look(self) -> None:
        self._pace.wait(LOOK_S)
        self._load.check()
        if dead := [name for name, kept in self._kept.items() if not kept.is_watched]:
            raise Stalled(f"nobody watches {', '.join(dead)} any more")
        if self.now_s() < self._told_at_s + TELL_S:
            return
        landed = sum(len(victim.landed) for victim in self._victims.values())
        moved = (landed, self._whole.replies().total())
        if moved != self._last:
            self._moved_at_s, self._last = self.now_s(), moved
        self._tell()
        if self.now_s() > self._moved_at_s + STALL_S:
            raise Stalled(f"nothing happened for {STALL_S:.0f} s\n{self._whole.story()}")

    def _tell(self) -> None:
        self._told_at_s = self.now_s()
        left = [name for name, victim in self._victims.items() if victim.is_left]
        self._say(
            f"{self.now_s():6.1f} s  {self._kills()} of {self._plan.kills} kills, "
            f"{self._last[1]} of {len(self._load.mails)} mails answered; "
            f"to strike: {', '.join(left) or 'nobody'}"
        )


def run(plan: Plan, folder: Path, say: Say) -> Outcome:
    """Make a run in this folder; `logs` there says afterwards what each process said."""
    with (
        LocalKafka(folder, install_dir=DATA_DIR) as kafka,
        pipeline(
            kafka.bootstrap_servers, "chaos-", folder, predecessor_wait_ms=PREDECESSOR_WAIT_MS
        ) as whole,
    ):
        made = Run(plan, kafka, whole=whole, say=say)
        try:
            return made.outcome()
        finally:
            _write_logs(whole, folder / "logs")


def _write_logs(whole: Pipeline, folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for name, process in whole.processes.items():
        (folder / f"{name}.log").write_text("\n".join(process.lines) + "\n", encoding="utf-8")
