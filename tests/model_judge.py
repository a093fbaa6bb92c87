"""Judges what one partition's input has come to in the committed log, word by word.

It knows what the stage was told to do and follows along: each record once and in order with the
count that it must have, each replay from where it was rewound to, each timer and each call once.
"""

import json
from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from schemas.headers import DEAD_OFFSET, REPLAY
from tests.model_log import Entry


@dataclass(slots=True)
class Replay:
    """A partition was rewound: from `next` to `last` each record is told again, under one mark."""

    next: int
    last: int
    mark: str | None
    made_from: str


class Judge:
    """One partition of the stage, as it must have been."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._highest = -1
        self._follows: deque[list[Any]] = deque()
        self._lasts: dict[str, str] = {}
        self._marks: set[str] = set()
        self.inputs: dict[int, Entry] = {}
        self.counts: Counter[str] = Counter()
        self.timers: set[str] = set()
        self.poisons: set[str] = set()
        self.calls: dict[str, int] = {}
        self.next = 0
        self.replay: Replay | None = None
        self.dead: list[tuple[int, str | None]] = []
        self.dead_timers: list[str] = []

    # -- what a test tells it

    def rewound(self, offset: int, *, committed: int, metadata: str) -> None:
        """The committed offset was set back while nobody worked."""
        self._highest = max(self._highest, committed - 1)
        made_from = f"dedupe-{self._number}-{offset}-"
        self.replay = Replay(offset, self._highest, metadata or None, made_from)

    # -- what it reads

    def take(self, entry: Entry) -> None:
        """The next committed output."""
        words = json.loads(entry.value or b"")
        if self._follows:
            assert words == self._follows.popleft()
            if words[0] == "claim":
                return
        getattr(self, f"_{words[0]}")(*words[1:])

    def _record(self, offset: int, mark: str | None, count: int, total: int) -> None:
        entry = self.inputs[offset]
        key, kind = entry.key.decode(), (entry.value or b"").decode()
        if mark is None:
            assert self.replay is None or self._after(self.replay.next) > self.replay.last
            assert offset == self._after(self.next), "told twice, left out, or out of order"
            self.next = offset + 1
            self.counts[key] = 0 if kind == "" else self.counts[key] + 1
        else:
            self._again(offset, mark)
        assert count == self.counts[key], "what was known is not what was committed"
        assert total == (self.counts.total() if kind == "sum" else 0)
        self._expect(kind, key, f"{self._number}:{offset}:{mark or ''}")

    def _again(self, offset: int, mark: str) -> None:
        replay = self.replay
        assert replay is not None, "read again, though nobody rewound"
        if replay.mark is None:
            assert mark.startswith(replay.made_from)
            assert mark not in self._marks
            replay.mark = mark
        self._marks.add(mark)
        assert (mark, offset) == (replay.mark, self._after(replay.next))
        assert offset <= replay.last, "marked, though new"
        replay.next = offset + 1

    def _after(self, offset: int) -> int:
        """The first record from there on that can be told, or one past them all."""
        fine = (each for each, entry in self.inputs.items() if entry.value != b"bad")
        return min((each for each in fine if each >= offset), default=1 << 62)

    def _expect(self, kind: str, key: str, name: str) -> None:
        timer = f"{key} {name}"
        if kind == "later":
            self.timers.add(timer)
            self._lasts[key] = timer
        if kind == "poison":
            self.poisons.add(timer)
        if kind == "cancel" and key in self._lasts:
            self._follows.append(["cancelled", self._lasts.pop(key)])
        if kind in ("outside", "twice"):
            self._follows.append(["claim", name, 1])
            self.calls[name] = 1

    def _fired(self, timer: str) -> None:
        assert timer in self.timers, "a timer fired twice, or though it was cancelled"
        self.timers.remove(timer)
        key = timer.partition(" ")[0]
        if self._lasts.get(key) == timer:
            del self._lasts[key]

    def _cancelled(self, timer: str) -> None:
        assert timer in self.timers
        self.timers.remove(timer)

    def _claim(self, name: str, attempt: int) -> None:
        assert self.calls.get(name) == attempt - 1, "a call that is over was tried again"
        self.calls[name] = attempt

    def _result(self, name: str, attempt: int) -> None:
        assert self.calls.pop(name, None) == attempt, "a result counted twice, or out of turn"

    # -- what was set aside

    def take_dead(self, entry: Entry) -> None:
        """The next dead letter of this partition."""
        headers = dict(entry.headers)
        if DEAD_OFFSET not in headers:
            self.dead_timers.append(json.loads(entry.value or b"")["id"])
            assert len(self.dead_timers) == len(set(self.dead_timers))
            return
        offset, mark = headers[DEAD_OFFSET] or b"", headers.get(REPLAY)
        self.dead.append((int(offset), None if mark is None else mark.decode()))
        assert len(self.dead) == len(set(self.dead)), "set aside twice"
        assert int(offset) in self._bad()

    def _bad(self) -> list[int]:
        return [each for each, entry in self.inputs.items() if entry.value == b"bad"]

    # -- what must hold

    def is_behind(self, committed: int) -> bool:
        """Whether an offset is committed beyond what was told and set aside."""
        new = {offset for offset, mark in self.dead if mark is None}
        lost = {each for each in self._bad() if each < committed} - new
        return committed > self._after(self.next) or bool(lost)

    def open_ends(self) -> list[str]:
        """What is still to come, for a partition where all should be done."""
        is_replaying = self.replay is not None and self._after(self.replay.next) <= self.replay.last
        fine = self._after(self.next)
        new = {offset for offset, mark in self.dead if mark is None}
        return [
            *([f"record {fine}"] if fine in self.inputs else []),
            *(["a replay"] if is_replaying else []),
            *(f"dead letter {each}" for each in self._bad() if each not in new),
            *sorted(self.timers),
            *sorted(self.poisons - set(self.dead_timers)),
            *sorted(self.calls),
        ]


def read_by(inputs: Iterable[Entry]) -> dict[int, Entry]:
    """The input by offset."""
    return {each.offset: each for each in inputs}
