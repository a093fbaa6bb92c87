"""The webhook operations of /v0.

Owns: create, list, get, change and remove a webhook.
May not: let the client choose the secret.
"""

from msgspec import structs
from starlette.responses import Response

from ops.standin.entries import Webhook, WebhookRemoved, WebhookSaved
from ops.standin.operations import Call
from ops.standin.standin import Standin
from ops.standin.webhooks import (
    WebhookBody,
    changed_webhook,
    new_webhook,
    parse_webhook,
    webhook_json,
)
from ops.standin.wire import json_response


async def create_webhook(standin: Standin, call: Call) -> Response:
    """A new webhook, or the one that this client id has created before."""
    body = structs.replace(parse_webhook(call.body), secret=None)
    return json_response(webhook_json(saved_webhook(standin, body)))


async def list_webhooks(standin: Standin, _call: Call) -> Response:
    """Every webhook in one page, newest first: there are never more than a page holds."""
    webhooks = [webhook_json(webhook) for webhook in standin.state.webhooks.all()]
    return json_response({"count": len(webhooks), "webhooks": webhooks})


async def get_webhook(standin: Standin, call: Call) -> Response:
    """One webhook, with its secret."""
    return json_response(webhook_json(standin.state.webhooks.get(call.ids["webhook_id"])))


async def change_webhook(standin: Standin, call: Call) -> Response:
    """The webhook after the change. Events that it missed while disabled stay missed."""
    state = standin.state
    before = state.webhooks.get(call.ids["webhook_id"])
    changed = changed_webhook(before, call.body, now=state.clock.now())
    state.record(WebhookSaved(changed))
    return json_response(webhook_json(changed))


async def remove_webhook(standin: Standin, call: Call) -> Response:
    """Nothing, once the webhook is gone."""
    webhook = standin.state.webhooks.get(call.ids["webhook_id"])
    standin.state.record(WebhookRemoved(webhook.webhook_id))
    return Response(status_code=204)


def saved_webhook(standin: Standin, body: WebhookBody) -> Webhook:
    """Create this webhook unless its client id is known already."""
    state = standin.state
    known = state.webhooks.of_client(body.client_id) if body.client_id else None
    if known is not None:
        return known
    state.webhooks.check_room()
    webhook = new_webhook(body, now=state.clock.now())
    state.record(WebhookSaved(webhook))
    return webhook
