"""The door as one ASGI application: a route for each source, and the pages beside it.

Owns: the paths.
May not: decide anything about a delivery, redirect, or open a client.
"""

from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from ingest.answers import Reason, TurnedAway, turned_away
from ingest.endpoint import Door
from ingest.health import Health


def create_app(door: Door, health: Health) -> Starlette:
    """POST /webhooks/{source}, /healthz, /readyz and /metrics; anything else is 404."""
    app = Starlette(routes=[Route("/webhooks/{source}", door), *health.routes()])
    # A sender follows no redirect: a path with one slash too many is as unknown as any other.
    app.router.redirect_slashes = False
    app.router.default = _nowhere
    return app


async def _nowhere(_: Scope, __: Receive, send: Send) -> None:
    for message in turned_away(TurnedAway(Reason.UNKNOWN_SOURCE)):
        await send(message)
