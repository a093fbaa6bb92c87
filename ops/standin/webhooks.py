"""The customer's webhooks: created, changed, chosen for an event.

Owns: the request bodies of /v0/webhooks, which events a webhook takes, and the limit of webhooks.
May not: deliver; deliver.py does.
"""

from collections.abc import Mapping
from datetime import datetime
from secrets import token_bytes
from typing import Annotated, Any, Final
from uuid import uuid4

import msgspec
from msgspec import Meta, Struct, structs

from ops.standin.entries import Webhook
from ops.standin.refusals import ApiError
from ops.standin.signing import secret_of
from ops.standin.wire import BodyT, decode_json

MAX_WEBHOOKS: Final = 100
# These come only to a webhook that names them.
BY_NAME_ONLY: Final = frozenset(
    {"message.received.spam", "message.received.blocked", "message.received.unauthenticated"}
)

Url = Annotated[str, Meta(pattern="^https?://[^ ]+$", max_length=2048)]


class WebhookBody(Struct, frozen=True, kw_only=True):
    """What creation takes. A chosen secret is for the control side: the provider makes its own."""

    url: Url
    event_types: tuple[str, ...] = ()
    inbox_ids: tuple[str, ...] = ()
    pod_ids: tuple[str, ...] = ()
    client_id: str | None = None
    secret: Annotated[str, Meta(pattern="^whsec_")] | None = None


class WebhookChange(Struct, frozen=True, kw_only=True):
    """What PATCH takes."""

    enabled: bool | None = None
    event_types: tuple[str, ...] = ()
    add_inbox_ids: tuple[str, ...] = ()
    remove_inbox_ids: tuple[str, ...] = ()
    add_pod_ids: tuple[str, ...] = ()
    remove_pod_ids: tuple[str, ...] = ()


class Webhooks:
    """The webhooks by id, in the order of creation."""

    def __init__(self) -> None:
        self._rows: dict[str, Webhook] = {}

    def save(self, webhook: Webhook) -> None:
        """Keep it as it is now."""
        self._rows[webhook.webhook_id] = webhook

    def remove(self, webhook_id: str) -> None:
        """Forget it. Safe to repeat."""
        self._rows.pop(webhook_id, None)

    def all(self) -> tuple[Webhook, ...]:
        """Every webhook, newest first, as the provider lists them."""
        return tuple(reversed(self._rows.values()))

    def get(self, webhook_id: str) -> Webhook:
        """The webhook. Raises ApiError 404 when there is none."""
        if webhook_id not in self._rows:
            raise ApiError(404, "no such webhook")
        return self._rows[webhook_id]

    def of_client(self, client_id: str) -> Webhook | None:
        """The webhook that was created under this client id."""
        return next((row for row in self._rows.values() if row.client_id == client_id), None)

    def takers(self, event_type: str, inbox_id: str | None) -> tuple[Webhook, ...]:
        """The webhooks that get an event of this type from this inbox now."""
        return tuple(row for row in self._rows.values() if _takes(row, event_type, inbox_id))

    def check_room(self) -> None:
        """Raise ApiError 507 unless one more webhook fits."""
        if len(self._rows) >= MAX_WEBHOOKS:
            raise ApiError(507, f"at most {MAX_WEBHOOKS} webhooks", code="too_many_webhooks")


def parse_webhook(body: bytes) -> WebhookBody:
    """The body of a creation. Raises ApiError 400 when it is not one."""
    parsed = _parsed(body, WebhookBody)
    if "@" in (parsed.client_id or ""):
        raise ApiError(400, "client_id must not hold an @")
    return parsed


def new_webhook(body: WebhookBody, *, now: datetime) -> Webhook:
    """The webhook that this body creates: enabled, with a secret of its own if it names none."""
    return Webhook(
        webhook_id=f"ep_{uuid4().hex}",
        url=body.url,
        secret=body.secret or secret_of(token_bytes(32)),
        enabled=True,
        created_at=now,
        updated_at=now,
        event_types=body.event_types,
        inbox_ids=body.inbox_ids,
        pod_ids=body.pod_ids,
        client_id=body.client_id,
    )


def changed_webhook(webhook: Webhook, body: bytes, *, now: datetime) -> Webhook:
    """The webhook after this PATCH. Event types replace all, unless the list is empty."""
    change = _parsed(body, WebhookChange)
    return structs.replace(
        webhook,
        enabled=webhook.enabled if change.enabled is None else change.enabled,
        event_types=change.event_types or webhook.event_types,
        inbox_ids=_amended(webhook.inbox_ids, change.add_inbox_ids, change.remove_inbox_ids),
        pod_ids=_amended(webhook.pod_ids, change.add_pod_ids, change.remove_pod_ids),
        updated_at=now,
    )


def webhook_json(webhook: Webhook) -> Mapping[str, Any]:
    """The webhook on the wire, secret included: the provider lets its customer read it."""
    fields: dict[str, Any] = msgspec.to_builtins(webhook)
    return fields


def _parsed(body: bytes, kind: type[BodyT]) -> BodyT:
    try:
        return decode_json(body, kind)
    except ValueError as error:
        raise ApiError(400, str(error)) from error


def _amended(
    ids: tuple[str, ...], add: tuple[str, ...], remove: tuple[str, ...]
) -> tuple[str, ...]:
    return tuple(each for each in dict.fromkeys((*ids, *add)) if each not in remove)


def _takes(webhook: Webhook, event_type: str, inbox_id: str | None) -> bool:
    if not webhook.enabled:
        return False
    if event_type not in webhook.event_types and (
        webhook.event_types or event_type in BY_NAME_ONLY
    ):
        return False
    return not webhook.inbox_ids or inbox_id in webhook.inbox_ids
