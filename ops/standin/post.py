"""Post webhooks over HTTP.

Owns: the HTTP client of the deliveries and its patience.
May not: follow a redirect, use a proxy, or read more of an answer than its status.
"""

from collections.abc import Mapping
from typing import Final

import httpx

# Svix gives an endpoint 15 seconds.
PATIENCE_SECONDS: Final = 15.0


class HttpPost:
    """Posts over one pool of connections."""

    def __init__(self) -> None:
        self._client = httpx.AsyncClient(timeout=PATIENCE_SECONDS, trust_env=False)

    async def __call__(self, url: str, *, body: bytes, headers: Mapping[str, str]) -> int:
        """The status of the endpoint's answer. Raises OSError when there was none."""
        try:
            async with self._client.stream("POST", url, content=body, headers=dict(headers)) as got:
                return got.status_code
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise ConnectionError(str(error)) from error

    async def close(self) -> None:
        """Let go of the connections."""
        await self._client.aclose()
