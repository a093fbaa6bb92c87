"""The real door, killed between a large body and its record: `python -m tests.dying_door`.

Production code knows nothing of this.
"""

import os
import signal
import sys

from ingest import __main__ as door
from ingest.publisher import Publisher
from ingest.records import Inbound
from schemas.headers import BODY


class Dying(Publisher):
    """Dies as a process does, with the first record that names a blob."""

    async def publish(self, record: Inbound) -> None:
        """Publish what is small."""
        if BODY in dict(record.headers):
            os.kill(os.getpid(), signal.SIGKILL)
        await super().publish(record)


if __name__ == "__main__":
    door.Publisher = Dying  # type: ignore[attr-defined]  # the real one, but for its death
    sys.exit(door.main())
