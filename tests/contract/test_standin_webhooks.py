"""The stand-in keeps AgentMail's contract for webhooks and signatures (providers.md 1.4, 2)."""

import json
from base64 import b64decode, b64encode
from hashlib import sha256
from hmac import digest
from typing import Any

import httpx
import pytest

from tests.contract.endpoint import Endpoint, listening
from tests.contract.standin_http import INBOX, MESSAGE_ID, OTHER_INBOX, received, reply, wait_for

SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="


def create(api: httpx.Client, **body: Any) -> dict[str, Any]:
    """A webhook of the provider's making."""
    answer = api.post("/v0/webhooks", json={"url": "http://127.0.0.1:9/hook", **body})
    assert answer.status_code == 200, answer.text
    webhook: dict[str, Any] = answer.json()
    return webhook


def inbound(api: httpx.Client, *, policy: str = "once", **mail: Any) -> dict[str, Any]:
    """A customer's mail of which the webhooks are told."""
    message = {"inbox_id": INBOX, "message_id": MESSAGE_ID, "text": "Hi"}
    mails = [{"message": message, **mail}]
    answer = api.post("/_standin/inbound", json={"mails": mails, "webhooks": policy})
    assert answer.status_code == 200, answer.text
    arrived: dict[str, Any] = answer.json()["mails"][0]
    return arrived


def signature_of(secret: str, headers: dict[str, str], body: bytes) -> str:
    """The signature that Svix's scheme gives these bytes."""
    signed = f"{headers['svix-id']}.{headers['svix-timestamp']}.".encode() + body
    key = b64decode(secret.removeprefix("whsec_"))
    return "v1," + b64encode(digest(key, signed, sha256)).decode()


def test_webhook_is_created_enabled_with_a_secret(api: httpx.Client) -> None:
    """ep_... ids, whsec_ secret, enabled: true (providers.md 1.4)."""
    webhook = create(api, event_types=["message.received"], client_id="one")

    assert webhook["webhook_id"].startswith("ep_")
    assert 24 <= len(b64decode(webhook["secret"].removeprefix("whsec_"))) <= 64
    assert (webhook["enabled"], webhook["event_types"]) == (True, ["message.received"])
    assert api.get(f"/v0/webhooks/{webhook['webhook_id']}").json() == webhook


def test_client_id_makes_creation_repeatable(api: httpx.Client) -> None:
    """Creates are made idempotent by client_id, without @ (providers.md 1.6)."""
    first, second = create(api, client_id="one"), create(api, client_id="one")

    refused = api.post("/v0/webhooks", json={"url": "http://127.0.0.1:9/", "client_id": "a@b"})

    assert (second, refused.status_code) == (first, 400)
    assert api.get("/v0/webhooks").json()["count"] == 1


def test_webhook_is_disabled_and_enabled_by_patch(api: httpx.Client) -> None:
    """PATCH enabled is how a disabled endpoint comes back (providers.md 1.4)."""
    path = f"/v0/webhooks/{create(api)['webhook_id']}"

    states = [api.patch(path, json={"enabled": each}).json()["enabled"] for each in (False, True)]

    assert states == [False, True]


def test_patch_replaces_types_and_amends_inboxes(api: httpx.Client) -> None:
    """event_types replaces all if non-empty; inboxes are added and removed (providers.md 1.4)."""
    made = create(api, event_types=["message.received"], inbox_ids=[INBOX])
    path = f"/v0/webhooks/{made['webhook_id']}"
    change = {"add_inbox_ids": [OTHER_INBOX], "remove_inbox_ids": [INBOX]}

    first = api.patch(path, json={"event_types": [], **change}).json()
    second = api.patch(path, json={"event_types": ["message.sent"]}).json()

    assert (first["event_types"], first["inbox_ids"]) == (["message.received"], [OTHER_INBOX])
    assert (second["event_types"], second["inbox_ids"]) == (["message.sent"], [OTHER_INBOX])


def test_deleted_webhook_is_404(api: httpx.Client) -> None:
    """DELETE removes it (providers.md 1.5)."""
    path = f"/v0/webhooks/{create(api)['webhook_id']}"

    deleted = api.delete(path)

    assert deleted.is_success
    assert [api.get(path).status_code, api.delete(path).status_code] == [404, 404]


def test_event_is_signed_over_its_raw_bytes(api: httpx.Client) -> None:
    """HMAC-SHA256 over id, timestamp and body with the webhook's secret (providers.md 2.1)."""
    with listening() as endpoint:
        secret = create(api, url=endpoint.url)["secret"]
        arrived = inbound(api)
        wait_for(api, delivered=1)

    headers, body = endpoint.requests[0]
    assert headers["svix-signature"] == signature_of(secret, headers, body)
    assert headers["svix-id"] == arrived["delivery_id"]


def test_received_event_has_message_and_thread(api: httpx.Client) -> None:
    """type, event_type, event_id, then the objects of the type (providers.md 1.3)."""
    with listening() as endpoint:
        create(api, url=endpoint.url)
        arrived = inbound(api, event_id="evt_7")
        wait_for(api, delivered=1)

    payload = json.loads(endpoint.requests[0][1])
    assert [*payload] == ["type", "event_type", "event_id", "message", "thread"]
    assert (payload["type"], payload["event_id"]) == ("event", "evt_7")
    required = "inbox_id thread_id message_id labels timestamp from to size updated_at created_at"
    assert set(required.split()) <= payload["message"].keys()
    assert payload["thread"]["last_message_id"] == arrived["message_id"]


def test_retry_repeats_id_and_body_under_a_new_timestamp(api: httpx.Client) -> None:
    """svix-id is stable; the timestamp is that of the attempt (providers.md 1.4, 6)."""
    with listening(500, 204) as endpoint:
        create(api, url=endpoint.url)
        inbound(api, policy="like_svix")
        wait_for(api, refused=1)

        api.post("/_standin/clock", json={"advance_seconds": 5})
        wait_for(api, delivered=1)

    (first, first_body), (second, second_body) = endpoint.requests
    assert (second["svix-id"], second_body) == (first["svix-id"], first_body)
    assert int(second["svix-timestamp"]) - int(first["svix-timestamp"]) >= 5


def test_delivery_ends_after_the_last_attempt(api: httpx.Client) -> None:
    """Eight attempts: 0, 5 s, 5 m, 30 m, 2 h, 5 h, 10 h, 10 h (providers.md 6)."""
    waits = [5, 300, 1800, 7200, 18000, 36000, 36000]
    with listening(500) as endpoint:
        create(api, url=endpoint.url)
        inbound(api, policy="like_svix")
        for number, seconds in enumerate(waits, start=1):
            wait_for(api, refused=number)
            api.post("/_standin/clock", json={"advance_seconds": seconds})
        wait_for(api, delivered=1)

    assert len(endpoint.requests) == 8


def test_without_being_asked_an_event_is_delivered_once(api: httpx.Client) -> None:
    """A scenario that plays its own retries must be able to count on one."""
    with listening(500) as endpoint:
        create(api, url=endpoint.url)
        inbound(api)
        wait_for(api, delivered=1)

    statuses = api.get("/_standin/deliveries").json()["deliveries"][0]["statuses"]
    assert (statuses, len(endpoint.requests)) == ([500], 1)


def test_same_mail_again_is_the_same_event(api: httpx.Client) -> None:
    """An event told again has its id, its svix-id and its bytes (providers.md 1.3)."""
    with listening() as endpoint:
        create(api, url=endpoint.url)
        first = inbound(api)
        wait_for(api, delivered=1)
        reply(api)
        second = inbound(api)
        wait_for(api, delivered=2)

    assert second == first
    assert len({(headers["svix-id"], body) for headers, body in endpoint.requests}) == 1


def test_two_endpoints_see_one_svix_id(api: httpx.Client) -> None:
    """svix-id is per message, the same at every endpoint (providers.md 1.3)."""
    with listening() as one, listening() as two:
        for endpoint in (one, two):
            create(api, url=endpoint.url)
        inbound(api)
        wait_for(api, delivered=2)

    assert one.requests[0][0]["svix-id"] == two.requests[0][0]["svix-id"]


@pytest.mark.parametrize("kind", ["spam", "blocked", "unauthenticated"])
def test_special_mail_comes_only_when_named(api: httpx.Client, kind: str) -> None:
    """They come instead of message.received, only to who subscribes by name (providers.md 1.2)."""
    event_type = f"message.received.{kind}"
    with listening() as plain, listening() as named:
        create(api, url=plain.url)
        create(api, url=named.url, event_types=[event_type])
        inbound(api, event_type=event_type)
        wait_for(api, delivered=1)

    assert [json.loads(body)["event_type"] for _, body in named.requests] == [event_type]
    assert plain.requests == []


def test_disabled_webhook_gets_nothing_and_nothing_later(api: httpx.Client) -> None:
    """Events while disabled are not redelivered: catch-up has to list (providers.md 1.4)."""
    with listening() as endpoint:
        path = f"/v0/webhooks/{create(api, url=endpoint.url)['webhook_id']}"
        api.patch(path, json={"enabled": False})
        inbound(api, event_id="evt_1")
        api.patch(path, json={"enabled": True})
        inbound(api, event_id="evt_2")
        wait_for(api, delivered=1)

    assert [json.loads(body)["event_id"] for _, body in endpoint.requests] == ["evt_2"]


def test_our_own_reply_comes_back_when_echo_is_on(api: httpx.Client) -> None:
    """message.sent and message.delivered tell of our mail in `send` and `delivery` (1.3)."""
    received(api, **{"from": "ann@y.example"})
    with listening() as endpoint:
        create(api, url=endpoint.url)
        reply(api)
        api.post("/_standin/echo", json={"event_types": ["message.sent", "message.delivered"]})
        sent = reply(api).json()
        wait_for(api, delivered=2)

    told = {each["event_type"]: each for each in map(json.loads, bodies(endpoint))}
    object_names = {"message.sent": "send", "message.delivered": "delivery"}
    objects = {name: told[name][object_names[name]] for name in told}
    members = {"inbox_id": INBOX, **sent, "recipients": ["ann@y.example"]}
    assert {name: {**each, **members} for name, each in objects.items()} == objects
    assert told.keys() == object_names.keys()


def test_control_side_chooses_the_secret(api: httpx.Client) -> None:
    """`make run` needs a secret that the door knows before the provider starts."""
    webhook = {"url": "http://127.0.0.1:9/hook", "secret": SECRET}

    chosen = api.post("/_standin/webhooks", json=webhook).json()["secret"]
    ignored = create(api, secret=SECRET)["secret"]

    assert chosen == SECRET
    assert ignored != SECRET


def bodies(endpoint: Endpoint) -> list[bytes]:
    """What the endpoint got."""
    return [body for _, body in endpoint.requests]


def test_bodies_above_the_payload_cap_are_left_out(api: httpx.Client) -> None:
    """Above 1 MB text and html are missing, and the message has to be read (providers.md 1.3)."""
    message = {"inbox_id": INBOX, "text": "x" * 1_100_000, "extracted_text": "short"}
    with listening() as endpoint:
        create(api, url=endpoint.url)
        inbound(api, message=message)
        wait_for(api, delivered=1)

    told = json.loads(endpoint.requests[0][1])["message"]
    assert (told.get("text"), told["extracted_text"], told["size"]) == (None, "short", 1_100_000)
