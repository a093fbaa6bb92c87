"""Plays entries into the door: each one to four times, signed anew each time, order by a seed.

Owns: how often and in which order webhooks are delivered, and what the door must answer.
May not: read the mailbox, or wait without a deadline.
"""

import random
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import httpx
from msgspec import Struct

from ops.demo.entries import Delivered, Entry, TurnedAway
from ops.standin.deliver import delivery_id_of
from ops.standin.signing import secret_of, signed_headers
from schemas.errors import Transient

MOST_COPIES: Final = 4
ACCEPTED: Final = 204
# A signature counts for five minutes.
STALE_S: Final = 600
ANSWER_DEADLINE_S: Final = 15.0

AfterFirst = Callable[[Entry], None]


class Answers(Struct):
    """What the door has answered so far."""

    accepted: int = 0
    turned_away: int = 0
    differences: tuple[str, ...] = ()


def schedule(entries: Sequence[Entry], *, seed: int) -> list[Entry]:
    """Every entry one to four times. First times stay in order; repeats come anywhere later."""
    chance = random.Random(seed)  # noqa: S311  # the same seed plays the same demo
    played: list[Entry] = list(entries)
    for entry in entries:
        for _ in range(chance.randint(1, MOST_COPIES) - 1):
            first = next(place for place, each in enumerate(played) if each is entry)
            played.insert(chance.randint(first + 1, len(played)), entry)
    return played


class Player:
    """Delivers webhooks to one door. `after_first` is called when each came for the first time."""

    def __init__(self, door: str, secrets: Mapping[str, str], *, after_first: AfterFirst) -> None:
        self._door, self._secrets, self._after_first = door, secrets, after_first
        self._client = httpx.Client(timeout=ANSWER_DEADLINE_S, trust_env=False)
        self.answers = Answers()

    def play(self, entries: Sequence[Entry], *, seed: int) -> None:
        """Deliver them all. Raises Transient when the door does not answer."""
        came: set[str] = set()
        for entry in schedule(entries, seed=seed):
            self._deliver(entry)
            if entry.name not in came:
                came.add(entry.name)
                self._after_first(entry)

    def close(self) -> None:
        """Let go of the door."""
        self._client.close()

    def _deliver(self, entry: Entry) -> None:
        body = entry.body
        try:
            answer = self._client.post(
                f"{self._door}/webhooks/{entry.source}", content=body, headers=self._headers(entry)
            )
        except httpx.HTTPError as error:
            raise Transient(f"The door at {self._door} does not answer.") from error
        self._compare(entry, answer)

    def _headers(self, entry: Entry) -> dict[str, str]:
        plain = {"content-type": "application/json"}
        if entry.delivered is Delivered.UNSIGNED:
            return plain
        forged = secret_of(b"a key that the door does not know")
        secret = self._secrets.get(entry.source, forged)
        is_stale = entry.delivered is Delivered.STALE
        return plain | signed_headers(
            forged if entry.delivered is Delivered.FORGED else secret,
            delivery_id_of(entry.event_id),
            timestamp=int(time.time()) - (STALE_S if is_stale else 0),
            body=entry.body,
        )

    def _compare(self, entry: Entry, answer: httpx.Response) -> None:
        expected, seen = expected_answer(entry), answered(answer)
        answers = self.answers
        if answer.is_success:
            answers.accepted += 1
        else:
            answers.turned_away += 1
        if seen != expected:
            sentence = f"{entry.name}: the door answered {seen}, expected {expected}"
            answers.differences += (sentence,)


def expected_answer(entry: Entry) -> str:
    """The answer that the door owes."""
    if isinstance(entry.expected, TurnedAway):
        return f"{entry.expected.status} {entry.expected.reason}"
    return str(ACCEPTED)


def answered(answer: httpx.Response) -> str:
    """The answer in the same words."""
    if answer.is_success:
        return str(answer.status_code)
    try:
        reason = answer.json()["reason"]
    except (ValueError, KeyError, TypeError):
        reason = "without a reason"
    return f"{answer.status_code} {reason}"
