"""The stand-in as an ASGI app.

Owns: the table of routes, and the start and stop of what runs beside them.
May not: hold logic of an operation.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from ops.standin import control, hooks_api, reads, sends, steering
from ops.standin.control_requests import Control, controlled
from ops.standin.deliver import Deliverer
from ops.standin.faults import Kind, Operation
from ops.standin.operations import Operate, endpoint
from ops.standin.post import HttpPost
from ops.standin.refusals import ApiError, on_api_error, on_no_route, on_wrong_method
from ops.standin.standin import Standin
from ops.standin.state import State
from ops.standin.wire import EncodedRoute, json_response

INBOX: Final = "/v0/inboxes/{inbox_id}"
MESSAGE: Final = INBOX + "/messages/{message_id}"
WEBHOOK: Final = "/v0/webhooks/{webhook_id}"

# `send` comes before a message of that name could.
OPERATIONS: Final[tuple[tuple[str, str, Operation, Operate], ...]] = (
    ("POST", INBOX + "/messages/send", Operation.SEND, sends.send_mail),
    ("POST", MESSAGE + "/reply", Operation.REPLY, sends.send_mail),
    ("POST", MESSAGE + "/reply-all", Operation.REPLY_ALL, sends.send_mail),
    ("GET", INBOX + "/messages", Operation.LIST, reads.list_messages),
    ("GET", MESSAGE, Operation.MESSAGE, reads.get_message),
    ("GET", INBOX + "/threads/{thread_id}", Operation.THREAD, reads.get_thread),
    ("GET", "/v0/threads/{thread_id}", Operation.THREAD, reads.get_thread),
    ("POST", "/v0/webhooks", Operation.WEBHOOKS, hooks_api.create_webhook),
    ("GET", "/v0/webhooks", Operation.WEBHOOKS, hooks_api.list_webhooks),
    ("GET", WEBHOOK, Operation.WEBHOOKS, hooks_api.get_webhook),
    ("PATCH", WEBHOOK, Operation.WEBHOOKS, hooks_api.change_webhook),
    ("DELETE", WEBHOOK, Operation.WEBHOOKS, hooks_api.remove_webhook),
)

# What each gives stands in its docstring; GET /_standin shows them all.
CONTROLS: Final[tuple[tuple[str, str, Control], ...]] = (
    ("GET", "health", control.health),
    ("POST", "inboxes", control.open_inbox),
    ("POST", "inbound", control.put_inbound),
    ("POST", "webhooks", control.add_webhook),
    ("POST", "echo", control.choose_echo),
    ("GET", "deliveries", control.show_deliveries),
    ("POST", "faults", steering.add_faults),
    ("GET", "faults", steering.show_faults),
    ("DELETE", "faults", steering.clear_faults),
    ("POST", "release", steering.release_holds),
    ("GET", "mailbox", control.show_mailbox),
    ("GET", "counts", control.show_counts),
    ("GET", "requests", control.show_requests),
    ("GET", "wait", steering.wait),
    ("POST", "reset", steering.reset),
    ("GET", "clock", steering.show_clock),
    ("POST", "clock", steering.advance_clock),
)


def create_app(state: State) -> Starlette:
    """The provider over this state. Webhooks are delivered while the app's lifespan lasts."""
    post = HttpPost()
    deliverer = Deliverer(clock=state.clock, signals=state.signals, post=post)
    standin = Standin(state=state, deliverer=deliverer)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        """Give up what is pending at the end."""
        yield
        await deliverer.stop()
        await post.close()

    app = Starlette(
        routes=_routes(standin),
        lifespan=lifespan,
        exception_handlers={ApiError: on_api_error, 404: on_no_route, 405: on_wrong_method},
    )
    # A redirect would be decided on the decoded path, in which an id may hold a slash.
    app.router.redirect_slashes = False
    return app


def _routes(standin: Standin) -> list[BaseRoute]:
    operations = [
        EncodedRoute(path, endpoint(standin, operation, operate), methods=[method])
        for method, path, operation, operate in OPERATIONS
    ]
    controls = [
        EncodedRoute(f"/_standin/{name}", controlled(standin, act), methods=[method])
        for method, name, act in CONTROLS
    ]
    index = EncodedRoute("/_standin", controlled(standin, show_controls), methods=["GET"])
    return [*operations, *controls, index]


async def show_controls(standin: Standin, _request: Request) -> Response:
    """Every control and what it gives, the counts to wait for, and the kinds of fault."""
    controls = [
        {"method": method, "path": f"/_standin/{name}", "gives": (act.__doc__ or "").strip()}
        for method, name, act in CONTROLS
    ]
    return json_response(
        {"controls": controls, "counts": tuple(standin.counts()), "faults": tuple(Kind)}
    )
