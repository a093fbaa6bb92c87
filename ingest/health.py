"""Is it alive, can it take deliveries, what has it counted: for machines that look after it.

Owns: /healthz, /readyz, /metrics.
May not: let whoever asks make work: the broker is asked once a second at most.
"""

from collections.abc import Awaitable, Callable
from typing import Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ingest.metrics import CONTENT_TYPE, Metrics

MEMORY_S: Final = 1.0

IsReachable = Callable[[], Awaitable[bool]]


class Health:
    """The three pages of one door."""

    def __init__(
        self, is_reachable: IsReachable, *, metrics: Metrics, steady_s: Callable[[], float]
    ) -> None:
        self._is_reachable = is_reachable
        self._metrics = metrics
        self._steady_s = steady_s
        self._asked_at_s: float | None = None
        self._is_ready = False

    def routes(self) -> list[Route]:
        """Where the pages are."""
        return [
            Route("/healthz", self.alive),
            Route("/readyz", self.ready),
            Route("/metrics", self.counted),
        ]

    async def alive(self, _: Request) -> Response:
        """200 as long as the event loop turns."""
        return JSONResponse({"alive": True})

    async def ready(self, _: Request) -> Response:
        """200 when a delivery would be stored, 503 while no broker answers."""
        now_s = self._steady_s()
        if self._asked_at_s is None or now_s - self._asked_at_s >= MEMORY_S:
            self._asked_at_s = now_s
            self._is_ready = await self._is_reachable()
        return JSONResponse({"ready": self._is_ready}, status_code=200 if self._is_ready else 503)

    async def counted(self, _: Request) -> Response:
        """The metrics."""
        return Response(self._metrics.page(), media_type=CONTENT_TYPE)
