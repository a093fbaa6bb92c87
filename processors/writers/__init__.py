"""What a writer is given and gives back: a Thread, and a text or a Draft.

async def write(thread: Thread) -> str | Draft: ...
"""

from processors.writers.drafts import Approval, Draft, needs_approval
from processors.writers.thread import Message, Thread

__all__ = ["Approval", "Draft", "Message", "Thread", "needs_approval"]
