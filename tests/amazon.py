"""Amazon SNS, played: it signs with a key and a certificate of its own, and serves what it names.

Owns: genuine messages of SNS, and doors that fetch from here.
May not: use the product's way to sign.
"""

import json
from base64 import b64encode
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, Final

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA1, SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from ingest.answers import Reason, TurnedAway
from ingest.signatures import Errand
from ingest.signatures.sns import SnsVerifier
from tests.doors import NOW_S, LocalDoor
from tests.senders import INBOX, Delivery, a_source, handed, judged

TOPIC: Final = "arn:aws:sns:eu-west-1:000000000000:mail"
OTHER_TOPIC: Final = "arn:aws:sns:eu-west-1:000000000000:other"
MESSAGE_ID: Final = "00000000-0000-4000-8000-000000000003"
CERTIFICATE_URL: Final = (
    f"https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-{'0' * 32}.pem"
)
CONFIRM_URL: Final = "https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&Token=t"
SOURCE: Final = a_source("ses", "sns", f'topics = ["{TOPIC}", "{OTHER_TOPIC}"]', secrets="[]")


class Amazon:
    """Signs for SNS with a key and a certificate of its own, and serves what it names."""

    def __init__(self, *, not_after_s: int = NOW_S + 86_400) -> None:
        self.key = _rsa_key()
        self.pages = {CERTIFICATE_URL: self._certificate(not_after_s), CONFIRM_URL: b"<ok/>"}
        self.asked: list[str] = []
        self.is_away = False

    async def fetch(self, url: str) -> bytes:
        """The page, as our fetcher gives it."""
        self.asked.append(url)
        if self.is_away or url not in self.pages:
            raise TurnedAway(Reason.FETCH_FAILED if self.is_away else Reason.SIGNATURE_WRONG)
        return self.pages[url]

    def says(self, *, version: str = "2", **changes: Any) -> dict[str, Any]:
        """A signed message of SNS with these differences; None leaves a member out."""
        given = {
            "Type": "Notification",
            "MessageId": MESSAGE_ID,
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


def a_door(amazon: Amazon) -> LocalDoor:
    """A door for two topics, which fetches from this Amazon."""
    return LocalDoor(SOURCE, fetch=amazon.fetch)


def answered(message: dict[str, Any], amazon: Amazon | None = None) -> str | None:
    """The reason of the refusal, or None."""
    return handed(a_door(amazon or Amazon()), sns(message)).reason


def taught(verifier: SnsVerifier, amazon: Amazon, url: str = CERTIFICATE_URL) -> None:
    """Give the verifier the certificate that it asks for."""
    try:
        judged(verifier, sns(amazon.says(SigningCertURL=url)))
    except Errand as errand:
        errand.take(amazon.pages[CERTIFICATE_URL])
