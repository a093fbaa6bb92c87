"""Read a body whole, within a size and a time.

Owns: the two bounds, counted on what really arrives: a declared length is only a hint.
May not: parse, or decompress.
"""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from datetime import timedelta
from typing import Any

from ingest.answers import Reason, TurnedAway
from schemas.errors import Transient

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]


class ClientGone(Transient):
    """The sender hung up before its body was whole: there is nobody to answer."""


async def read_body(receive: Receive, *, limit_bytes: int, deadline: timedelta) -> bytes:
    """The body's bytes, exactly.

    Never holds more than the limit and one chunk of the server's. Raises TurnedAway when the body
    is longer than the limit or not whole by the deadline, ClientGone when the sender hangs up.
    """
    try:
        async with asyncio.timeout(deadline.total_seconds()):
            return await _whole(receive, limit_bytes)
    except TimeoutError:
        raise TurnedAway(Reason.BODY_TOO_SLOW) from None


async def _whole(receive: Receive, limit_bytes: int) -> bytes:
    chunks: list[bytes] = []
    size_bytes = 0
    is_more = True
    while is_more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone("the sender hung up")
        chunk: bytes = message.get("body", b"")
        size_bytes += len(chunk)
        if size_bytes > limit_bytes:
            raise TurnedAway(Reason.BODY_TOO_LARGE)
        chunks.append(chunk)
        is_more = message.get("more_body", False)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)
