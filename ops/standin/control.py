"""The controls of what is there: inboxes, mail that comes in, webhooks, and what came of it all.

Owns: their requests and answers. They need no key: the provider listens on loopback only.
May not: be used by the pipeline.
"""

from typing import Annotated

from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import Response

from ops.standin.control_requests import control_body, number_in
from ops.standin.entries import EchoChosen, InboxOpened
from ops.standin.events import ECHOES
from ops.standin.hooks_api import saved_webhook
from ops.standin.inbound import InboundBody, receive
from ops.standin.refusals import ApiError
from ops.standin.standin import Standin
from ops.standin.views import attempt_rows, count_rows, mailbox_page
from ops.standin.webhooks import parse_webhook, webhook_json
from ops.standin.wire import json_response, read_body


class InboxBody(Struct, frozen=True, forbid_unknown_fields=True):
    """The inbox to open."""

    inbox_id: Annotated[str, Meta(min_length=1, max_length=2048)]


class EchoBody(Struct, frozen=True, forbid_unknown_fields=True):
    """The events that accepted mails lead to from now on."""

    event_types: tuple[str, ...]


async def health(standin: Standin, _request: Request) -> Response:
    """That it is up, and its counts."""
    return json_response({"status": "up", **standin.counts()})


async def open_inbox(standin: Standin, request: Request) -> Response:
    """The inbox exists now. Safe to repeat."""
    body = await control_body(request, InboxBody)
    if not standin.state.mailbox.has_inbox(body.inbox_id):
        standin.state.record(InboxOpened(body.inbox_id))
    return json_response({"inbox_id": body.inbox_id})


async def put_inbound(standin: Standin, request: Request) -> Response:
    """The mails lie in their inboxes; their events are on the way if that was asked."""
    return json_response({"mails": receive(standin, await control_body(request, InboundBody))})


async def add_webhook(standin: Standin, request: Request) -> Response:
    """A webhook whose secret the caller may choose."""
    body = parse_webhook(await read_body(request))
    return json_response(webhook_json(saved_webhook(standin, body)))


async def choose_echo(standin: Standin, request: Request) -> Response:
    """Which events accepted mails lead to. An empty list turns them off."""
    body = await control_body(request, EchoBody)
    if unknown := [each for each in body.event_types if each not in ECHOES]:
        raise ApiError(400, f"not an echo: {unknown[0]!r}; one of {', '.join(ECHOES)}")
    standin.state.record(EchoChosen(body.event_types))
    return json_response({"event_types": body.event_types})


async def show_deliveries(standin: Standin, _request: Request) -> Response:
    """What became of each event at each webhook."""
    return json_response({"deliveries": standin.deliverer.records()})


async def show_mailbox(standin: Standin, request: Request) -> Response:
    """The accepted mails in the order of acceptance, in pages of `limit` after sequence `after`."""
    after = number_in(request, "after", 0)
    limit = number_in(request, "limit", 10_000)
    return json_response(
        mailbox_page(standin.state.mailbox.accepted, after=int(after), limit=int(limit))
    )


async def show_counts(standin: Standin, _request: Request) -> Response:
    """How many mails answered each message, by inbox and message id; and every other count."""
    return json_response(
        {**standin.counts(), "replies": count_rows(standin.state.mailbox.accepted)}
    )


async def show_requests(standin: Standin, _request: Request) -> Response:
    """The latest attempts of clients, oldest first."""
    attempts = standin.state.attempts
    return json_response({"total": attempts.total, "requests": attempt_rows(attempts)})
