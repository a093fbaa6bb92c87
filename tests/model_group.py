"""A consumer group in memory: classic protocol, static members, cooperative rebalances."""

from itertools import count
from typing import NamedTuple

from confluent_kafka import KafkaError

NO_GENERATION = -1


class Metadata(NamedTuple):
    """What a member shows of itself when it commits."""

    name: str
    member: int
    generation: int


class Group:
    """Who is a member, who holds which partition, and who is to have it. Offsets are committed."""

    def __init__(self, partitions: int) -> None:
        self.generation = 0
        self.members: dict[str, int] = {}
        self.offsets: dict[int, tuple[int, str]] = {}
        self.wanted: dict[int, str | None] = dict.fromkeys(range(partitions))
        self.owner: dict[int, str | None] = dict.fromkeys(range(partitions))
        # Whether a member knows of a new generation before its next poll.
        self.hears_early = False
        self._ids = count(1)

    def join(self, name: str) -> int:
        """Become a member. One that was killed comes back as it was, and fences its past self.

        It claims nothing then: what is to go elsewhere need not wait for it to let go.
        """
        going = [each for each, owner in self.owner.items() if owner == name != self.wanted[each]]
        if name not in self.members or going:
            self.release(going)
        self.members[name] = next(self._ids)
        self._assign()
        return self.members[name]

    def expel(self, name: str) -> None:
        """Its session is over: what it held is free."""
        if self.members.pop(name, None) is None:
            return
        self.generation += 1
        for number, owner in self.owner.items():
            if owner == name:
                self.owner[number] = None
        self._assign()

    def move(self, number: int, name: str) -> None:
        """The assignor wants the partition elsewhere; every member is to join again."""
        if name in self.members and self.wanted[number] != name:
            self.wanted[number] = name
            self.generation += 1

    def release(self, numbers: list[int]) -> None:
        """Their member has let go of them; the next generation gives them away."""
        for number in numbers:
            self.owner[number] = None
        self.generation += 1

    def gained(self, name: str, owned: set[int]) -> list[int]:
        """The partitions that are the member's from now on."""
        free = (None, name)
        numbers = [
            number
            for number, wanted in self.wanted.items()
            if wanted == name and self.owner[number] in free and number not in owned
        ]
        self.owner.update(dict.fromkeys(numbers, name))
        return numbers

    def refusal(self, shown: Metadata) -> int | None:
        """Why offsets from this member are not taken, or None."""
        if shown.generation == NO_GENERATION:
            return KafkaError.UNKNOWN_MEMBER_ID if self.members else None
        if shown.name not in self.members:
            return KafkaError.UNKNOWN_MEMBER_ID
        if self.members[shown.name] != shown.member:
            return KafkaError.FENCED_INSTANCE_ID
        return None if shown.generation == self.generation else KafkaError.ILLEGAL_GENERATION

    def _assign(self) -> None:
        present = sorted(self.members)
        for number, name in self.wanted.items():
            if name not in self.members:
                self.wanted[number] = present[number % len(present)] if present else None
