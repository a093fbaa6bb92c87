"""Senders of every scheme but Svix: each signs here apart from the product's way.

Owns: genuine deliveries, as headers and bytes; a test states the one difference.
May not: import a scheme.
"""

import hmac
import json
from base64 import b64encode
from functools import cache
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from ingest.signatures import SignatureRejected, Verifier
from tests.doors import NOW_S, HeaderList, LocalDoor, Reply

INBOX: Final = "support@inbox.example"
TEXT_SECRET: Final = "shh-secret"
OTHER_SECRET: Final = "another-secret"
LOGIN: Final = "postmark:correct horse battery"
PATH_SECRET: Final = "a-path.that_nobody~guesses"
JSON: Final = (b"content-type", b"application/json")


class Delivery(NamedTuple):
    """What is sent: headers, body, and the end of the path."""

    headers: HeaderList
    body: bytes
    path: str = "/webhooks/a"


def judged(verifier: Verifier, delivery: Delivery, *, now_s: float = NOW_S) -> str:
    """The id that the proof covers, or the reason of the refusal."""
    headers = {name.lower(): value for name, value in delivery.headers}
    try:
        return verifier.verify(headers, delivery.body, now_s=now_s)
    except SignatureRejected as error:
        return str(error.reason)


def handed(door: LocalDoor, delivery: Delivery) -> Reply:
    """What the door answers."""
    return door.ask(delivery.body, path=delivery.path, headers=delivery.headers)


def a_source(provider: str, scheme: str, *lines: str, secrets: str = '["SECRET"]') -> str:
    """An onereply.toml with one source, named a, and two workspaces' inboxes."""
    return "\n".join(
        [
            "[workspaces.main]",
            "[workspaces.other]",
            *(
                f'[inboxes."{inbox}"]\nworkspace = "{workspace}"'
                for inbox, workspace in (
                    (INBOX, "main"),
                    ("billing@inbox.example", "main"),
                    ("theirs@inbox.example", "other"),
                )
            ),
            "[sources.a]",
            f'provider = "{provider}"',
            f'scheme = "{scheme}"',
            'workspace = "main"',
            f"secrets = {secrets}",
            *lines,
            "",
        ]
    )


def mac(secret: str, data: bytes, algorithm: str = "sha256") -> bytes:
    """The HMAC of the data, with the text as its key."""
    return hmac.digest(secret.encode(), data, algorithm)


def agentdraft(body: bytes, *, secret: str = TEXT_SECRET, at_s: int = NOW_S) -> Delivery:
    """A delivery by AgentDraft."""
    signature = mac(secret, b"%d." % at_s + body).hex().encode()
    return Delivery([(b"x-agentdraft-signature", b"t=%d,v1=%s" % (at_s, signature)), JSON], body)


def hookdeck(body: bytes, *, secret: str = TEXT_SECRET, header: str = "") -> Delivery:
    """A delivery through Hookdeck; `header` is what stands behind the usual header's name."""
    name = b"x-hookdeck-signature" + header.encode()
    return Delivery([(name, b64encode(mac(secret, body))), JSON], body)


def basic(body: bytes, *, login: str = LOGIN, path: str = "/webhooks/a") -> Delivery:
    """A delivery by Postmark."""
    return Delivery([(b"authorization", b"Basic " + b64encode(login.encode())), JSON], body, path)


def postmark_mail(**changes: Any) -> bytes:
    """A mail as Postmark posts it."""
    mail = {
        "From": "ann@y.example",
        "To": "Help <help@x.example>",
        "OriginalRecipient": INBOX,
        "MessageID": "00000000-0000-4000-8000-000000000002",
        "Headers": [{"Name": "Message-ID", "Value": "<m1@y.example>"}],
    }
    return json.dumps(mail | changes).encode()


@cache
def sendgrid_key() -> ec.EllipticCurvePrivateKey:
    """SendGrid's key in these tests."""
    return ec.generate_private_key(ec.SECP256R1())


def spki(key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> str:
    """The public half as SendGrid shows it: base64 of the DER form."""
    public = key.public_key()
    return b64encode(public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).decode()


def sendgrid(
    body: bytes, *, at_s: int = NOW_S, content_type: bytes = b"multipart/form-data; boundary=xYz"
) -> Delivery:
    """A delivery by SendGrid's parse webhook."""
    signature = sendgrid_key().sign(b"%d" % at_s + body, ec.ECDSA(SHA256()))
    prefix = b"x-twilio-email-event-webhook-"
    headers = [
        (prefix + b"signature", b64encode(signature)),
        (prefix + b"timestamp", b"%d" % at_s),
        (b"content-type", content_type),
    ]
    return Delivery(headers, body)


def sendgrid_fields(**changes: str | None) -> dict[str, str]:
    """The fields of a mail at SendGrid; None leaves one out."""
    fields = {
        "headers": "Received: by mx\nMessage-ID: <m1@y.example>\nDate: Mon, 5 Jan 2026 10:00:00 Z",
        "envelope": json.dumps({"to": [INBOX], "from": "ann@y.example"}),
        "to": INBOX,
        "subject": "Hi",
        "text": "Hello",
    }
    return {name: value for name, value in (fields | changes).items() if value is not None}


def multipart(fields: dict[str, str], *, boundary: str = "xYz", file: bytes = b"") -> bytes:
    """The fields as multipart/form-data, with a file behind them where one is given."""
    parts = [
        f'Content-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
        for name, value in fields.items()
    ]
    if file:
        head = b'Content-Disposition: form-data; name="attachment1"; filename="a.bin"\r\n\r\n'
        parts.append(head + file + b"\r\n")
    mark = b"--" + boundary.encode()
    return b"".join(mark + b"\r\n" + part for part in parts) + mark + b"--\r\n"


def mailgun_fields(
    *, secret: str = TEXT_SECRET, at_s: int = NOW_S, token: str = "t" * 50, **changes: str
) -> dict[str, str]:
    """The fields of a mail at Mailgun, its three signed ones among them."""
    fields = {
        "recipient": INBOX,
        "sender": "ann@y.example",
        "Message-Id": "<m1@y.example>",
        "message-headers": '[["Message-Id", "<m1@y.example>"]]',
        "body-plain": "Hello",
        "timestamp": str(at_s),
        "token": token,
        "signature": mac(secret, f"{at_s}{token}".encode()).hex(),
    }
    return fields | changes


def mailgun(fields: dict[str, str]) -> Delivery:
    """A delivery by a route of Mailgun."""
    kind = (b"content-type", b"application/x-www-form-urlencoded")
    return Delivery([kind], urlencode(fields).encode())
