"""Senders of every scheme but Svix: each signs here apart from the product's way.

Owns: genuine deliveries, as headers and bytes; a test states the one difference.
May not: import a scheme.
"""

import hmac
import json
from base64 import b64encode
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.hashes import SHA1, SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509.oid import NameOID

from ingest.answers import Reason, TurnedAway
from ingest.signatures import SignatureRejected, Verifier
from tests.doors import NOW_S, HeaderList, LocalDoor, Reply

INBOX: Final = "support@inbox.example"
TEXT_SECRET: Final = "shh-secret"
OTHER_SECRET: Final = "another-secret"
LOGIN: Final = "postmark:correct horse battery"
PATH_SECRET: Final = "a-path.that_nobody~guesses"
TOPIC: Final = "arn:aws:sns:eu-west-1:000000000000:mail"
CERTIFICATE_URL: Final = (
    f"https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-{'0' * 32}.pem"
)
CONFIRM_URL: Final = "https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&Token=t"
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


class Amazon:
    """Signs for SNS with a key and a certificate of its own, and serves what it names."""

    def __init__(self, *, not_after_s: int = NOW_S + 86_400) -> None:
        self.key = _rsa_key()
        self.pages = {CERTIFICATE_URL: self._certificate(not_after_s), CONFIRM_URL: b"<ok/>"}
        self.asked: list[str] = []

    async def fetch(self, url: str) -> bytes:
        """The page, as our fetcher gives it."""
        self.asked.append(url)
        if url not in self.pages:
            raise TurnedAway(Reason.FETCH_FAILED)
        return self.pages[url]

    def says(self, *, version: str = "2", **changes: Any) -> dict[str, Any]:
        """A signed message of SNS with these differences; None leaves a member out."""
        given = {
            "Type": "Notification",
            "MessageId": "00000000-0000-4000-8000-000000000003",
            "TopicArn": TOPIC,
            "Message": ses_mail(),
            "Timestamp": datetime.fromtimestamp(NOW_S, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z"),
            "SigningCertURL": CERTIFICATE_URL,
            "SignatureVersion": version,
        } | changes
        message = {name: value for name, value in given.items() if value is not None}
        algorithm = SHA1() if version == "1" else SHA256()  # noqa: S303  # SNS's first version
        signature = self.key.sign(_sns_text(message), padding.PKCS1v15(), algorithm)
        return message | {"Signature": b64encode(signature).decode()}

    def confirmation(self, **changes: Any) -> dict[str, Any]:
        """The message by which SNS asks whether we want to hear of a topic."""
        return self.says(
            **{
                "Type": "SubscriptionConfirmation",
                "Message": "You have chosen to subscribe",
                "Token": "t",
                "SubscribeURL": CONFIRM_URL,
            }
            | changes
        )

    def _certificate(self, not_after_s: int) -> bytes:
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "sns.amazonaws.com")])
        until = datetime.fromtimestamp(not_after_s, UTC)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(self.key.public_key())
            .serial_number(1)
            .not_valid_before(until - timedelta(days=30))
            .not_valid_after(until)
            .sign(self.key, SHA256())
        )
        return certificate.public_bytes(Encoding.PEM)


def sns(message: dict[str, Any]) -> Delivery:
    """The message as SNS posts it."""
    return Delivery([(b"content-type", b"text/plain; charset=UTF-8")], json.dumps(message).encode())


def ses_mail(*recipients: str, kind: str = "Received") -> str:
    """What SES says of a mail."""
    return json.dumps(
        {
            "notificationType": kind,
            "receipt": {"recipients": list(recipients or [INBOX])},
            "mail": {"messageId": "ses1", "destination": ["help@x.example"]},
        }
    )


@cache
def _rsa_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65_537, key_size=2048)


def _sns_text(message: dict[str, Any]) -> bytes:
    """Every member that SNS signs, in the order of their names, each name and value on a line."""
    signed = {
        name: value
        for name, value in message.items()
        if name not in {"SignatureVersion", "SigningCertURL", "Signature", "UnsubscribeURL"}
    }
    return "".join(f"{name}\n{signed[name]}\n" for name in sorted(signed)).encode()
