"""A writer: the thread in, the reply out. Its name is `examples.echo_writer:write`."""

from processors.writers import Draft, Thread, needs_approval


async def write(thread: Thread) -> str | Draft:
    """Say how much was written; a mail about a refund waits for a person."""
    text = f"You wrote {len(thread.message.text)} characters, message {len(thread.messages)}."
    if "refund" in thread.message.text.lower():
        return Draft(text, approval=needs_approval("The mail speaks of a refund."))
    return text
