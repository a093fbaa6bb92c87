"""The door as one ASGI application: a route for each source, and the pages beside it.

Owns: the paths, and that every answer has the one shape of the status table.
May not: decide anything about a delivery, redirect, or open a client.
"""

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from ingest.answers import Reason, TurnedAway, turned_away
from ingest.endpoint import Door
from ingest.health import Health
from ingest.metrics import UNKNOWN, Metrics


def create_app(door: Door, health: Health, metrics: Metrics) -> Starlette:
    """POST /webhooks/{source}[/{secret}], /healthz, /readyz and /metrics; anything else is 404."""

    def counted(reason: Reason) -> Response:
        metrics.settled(UNKNOWN, reason)
        return _response(TurnedAway(reason))

    def page_not_read(_: Request, __: Exception) -> Response:
        return counted(Reason.READ_ONLY)

    def failed(_: Request, __: Exception) -> Response:
        return counted(Reason.OUR_FAILURE)

    async def nowhere(scope: Scope, receive: Receive, send: Send) -> None:
        await counted(Reason.UNKNOWN_SOURCE)(scope, receive, send)

    app = Starlette(
        routes=[
            Route("/webhooks/{source}", door),
            Route("/webhooks/{source}/{secret}", door),
            *health.routes(),
        ],
        # The pages' routes raise the first, for methods that are not theirs, and nothing else.
        exception_handlers={HTTPException: page_not_read, Exception: failed},
    )
    # A sender follows no redirect: a path with one slash too many is as unknown as any other.
    app.router.redirect_slashes = False
    app.router.default = nowhere
    return app


def _response(error: TurnedAway) -> Response:
    start, body = turned_away(error)
    response = Response(status_code=start["status"])
    response.body, response.raw_headers = body["body"], start["headers"]
    return response
