"""Fetch what a signature names: a certificate, a confirmation page.

Owns: the one way out of the door: https, no redirects, a deadline, and a size.
May not: choose an address. A scheme hands over those that it has checked.
"""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Final

import httpx

from ingest.answers import Reason, TurnedAway

# Given an address, what it holds. Raises TurnedAway.
Fetch = Callable[[str], Awaitable[bytes]]

# Amazon SNS waits 15 s for our answer (providers.md section 6), of which the broker may take four.
DEADLINE: Final = timedelta(seconds=5)
# A chain of certificates has under 10 kB, and a confirmation under one.
MAX_BYTES: Final = 64 * 1024


async def fetch(url: str) -> bytes:
    """What stands at this https address.

    Raises TurnedAway: the sender comes again where the address cannot be reached or fails, and its
    delivery is refused where there is no such thing.
    """
    timeout = DEADLINE.total_seconds()
    try:
        async with (
            httpx.AsyncClient(timeout=timeout, follow_redirects=False) as client,
            client.stream("GET", url) as response,
        ):
            return await _content(response)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise TurnedAway(Reason.FETCH_FAILED) from error


async def _content(response: httpx.Response) -> bytes:
    if response.is_client_error:
        raise TurnedAway(Reason.SIGNATURE_WRONG)
    if not response.is_success:
        raise TurnedAway(Reason.FETCH_FAILED)
    content = b""
    async for part in response.aiter_bytes():
        content += part
        if len(content) > MAX_BYTES:
            raise TurnedAway(Reason.FETCH_FAILED)
    return content
