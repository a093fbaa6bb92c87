"""A user's writer, as the tests of WRITE load it: `tests.own_writers:write`.

What a mail says is what happens: `raise`, `exit`, `nothing`; `hang` waits for ever while the
variable TESTS_HANG is set. Any other text is answered.
"""

import asyncio
import logging
import os

from processors.writers import Thread

# One of our loggers, so that the line is written: the tests' signal that the writer is at work.
LOG = logging.getLogger("processors.tests")


async def write(thread: Thread) -> str:
    """The mail's own text, turned about; or what it asks for."""
    match thread.message.text:
        case "raise":
            raise ValueError(f"a secret of {thread.message.sender}")
        case "exit":
            raise SystemExit(7)
        case "nothing":
            return ""
        case "hang" if os.environ.get("TESTS_HANG"):
            LOG.info("writer hangs")
            await asyncio.Event().wait()
    return thread.message.text[::-1]
