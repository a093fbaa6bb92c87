"""When a part that ended is started again.

Owns: the waits, and which ends need a person instead.
May not: know a clock or a process.
"""

from dataclasses import dataclass
from typing import Final

# 2: settings that do not change by themselves. 5: records are missing, and a person must decide.
FINAL_CODES: Final = frozenset({2, 5})
LONGEST_WAIT_S: Final = 30.0
# A part that worked for so long, from when it said that it works, has recovered: its next end is
# a new story.
STEADY_S: Final = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Restarts:
    """How often a part was started again since it last worked steadily."""

    count: int = 0

    def after_end(self, *, worked_s: float) -> "Restarts":
        """With the start that follows an end."""
        return Restarts(count=1 if worked_s >= STEADY_S else self.count + 1)

    @property
    def wait_s(self) -> float:
        """How long that start waits: not at all the first time, then 1, 2, 4 ... 30 s."""
        if self.count <= 1:
            return 0.0
        # Five doublings pass the longest wait.
        return min(LONGEST_WAIT_S, 2.0 ** min(self.count - 2, 5))
