"""A provider's traffic: signed deliveries at a steady rate, some twice, each until accepted."""

import random
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from tests.pipeline import Mail, Pipeline

SUCCESS: Final = range(200, 300)
# Ten a second at most: longer than a door awaits a broker that was killed under it.
MOST_ATTEMPTS: Final = 2_000


class Traffic:
    """Delivers mails from a thread of its own. `passed` tells how far it is."""

    def __init__(
        self, whole: Pipeline, mails: Sequence[Mail], *, per_second: float, rnd: random.Random
    ) -> None:
        self._whole = whole
        again = [mail for mail in mails if rnd.random() < 0.3]
        self._plan = _swapped([*mails, *again], rnd)
        self._every_s = 1 / per_second
        self._passed = threading.Condition()
        self._may_go = threading.Event()
        self._may_go.set()
        self._count = 0
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        begin_s = time.monotonic()
        pace = threading.Event()
        refused: list[Mail] = []
        for number, mail in enumerate(self._plan):
            pace.wait(max(0.0, begin_s + number * self._every_s - time.monotonic()))
            if not self._may_go.is_set():
                stood_s = time.monotonic()
                self._may_go.wait()
                begin_s += time.monotonic() - stood_s
            if self._whole.deliver(mail) not in SUCCESS:
                refused.append(mail)
            with self._passed:
                self._count = number + 1
                self._passed.notify_all()
        self._retry(refused, pace)
        with self._passed:
            self._count = len(self._plan) + 1
            self._passed.notify_all()

    def _retry(self, refused: list[Mail], pace: threading.Event) -> None:
        """What a provider does with what was not accepted: the same again, a little later."""
        for attempt in range(2, MOST_ATTEMPTS):
            refused = [
                mail
                for mail in refused
                if self._whole.deliver(mail, attempt=attempt) not in SUCCESS
            ]
            if not refused:
                return
            pace.wait(0.1)
        raise AssertionError(f"{len(refused)} deliveries were never accepted")

    @contextmanager
    def standing(self) -> Iterator[None]:
        """No delivery is begun for the length of the block."""
        self._may_go.clear()
        try:
            yield
        finally:
            self._may_go.set()

    def passed(self, count: int, *, deadline_s: float = 120) -> None:
        """Return once that many deliveries were made."""
        with self._passed:
            is_there = self._passed.wait_for(lambda: self._count >= count, deadline_s)
        assert is_there, f"{self._count} of {count} deliveries were made"

    def ended(self, *, deadline_s: float = 120) -> None:
        """Return once everything was accepted."""
        self.passed(len(self._plan) + 1, deadline_s=deadline_s)


def _swapped(mails: list[Mail], rnd: random.Random) -> list[Mail]:
    """Neighbours change places now and then, repeats come a little later than their first."""
    order = sorted(range(len(mails)), key=lambda number: number + rnd.random() * 12)
    return [mails[number] for number in order]
