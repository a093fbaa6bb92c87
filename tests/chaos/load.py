"""Steady traffic for as long as a chaos run strikes.

Owns: the conversations, round after round, and the list of all mails that were delivered.
May not: know what is struck.
"""

import random
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final

from tests.pipeline import Mail, Pipeline, conversation
from tests.traffic import Traffic

THREADS, LENGTH = 20, 4
PER_SECOND: Final = 20.0
# A round ends when all of it was accepted: the door may die, be paused and await its broker.
ROUND_DEADLINE_S: Final = 300.0


class Load:
    """Two providers at once, one of whose mails are all cut and must be fetched."""

    def __init__(self, whole: Pipeline, *, seed: int) -> None:
        self._whole = whole
        self._seed = seed
        self._ending = threading.Event()
        self._pool = ThreadPoolExecutor(2, thread_name_prefix="load")
        self._lanes: list[Future[None]] = []
        self.mails: list[Mail] = []

    def start(self) -> None:
        """Begin to deliver."""
        self._lanes = [self._pool.submit(self._run, is_cut=is_cut) for is_cut in (False, True)]

    def _run(self, *, is_cut: bool) -> None:
        lane = "cut" if is_cut else "whole"
        rnd = random.Random(f"{self._seed} {lane}")
        number = 0
        while not self._ending.is_set():
            number += 1
            name = f"{lane}-{number}"
            mails = conversation(name, threads=THREADS, length=LENGTH, is_cut=is_cut)
            self._whole.know(mails)
            traffic = Traffic(self._whole, mails, per_second=PER_SECOND, rnd=rnd)
            self.mails += mails
            traffic.ended(deadline_s=ROUND_DEADLINE_S)

    def check(self) -> None:
        """Raise what a lane has raised."""
        for lane in self._lanes:
            if lane.done():
                lane.result()

    def end(self) -> list[Mail]:
        """Begin no more rounds; every mail, once all were accepted."""
        self._ending.set()
        for lane in self._lanes:
            lane.result()
        self._pool.shutdown()
        return self.mails
