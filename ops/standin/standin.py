"""The parts of one running stand-in, together.

Owns: which parts there are, and the counts over all of them.
May not: hold state of its own.
"""

from collections.abc import Mapping

from msgspec import Struct

from ops.standin.deliver import Deliverer
from ops.standin.state import State


class Standin(Struct, frozen=True, kw_only=True):
    """State, and the deliverer that tells the customer's webhooks of it."""

    state: State
    deliverer: Deliverer

    def counts(self) -> Mapping[str, int]:
        """The numbers that can be waited for, by name."""
        return {
            **self.state.counts(),
            "refused": self.deliverer.refused,
            "delivered": self.deliverer.settled,
            "undelivered": self.deliverer.dropped,
        }
