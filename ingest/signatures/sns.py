"""Amazon SNS: RSA over fields of the body, with a certificate that the body names.

Owns: which topics, hosts and fields count, and when a subscription is confirmed.
Source: providers.md 5.4.
May not: fetch. What is missing is asked for as an errand, at addresses that were checked here.
"""

import re
from collections import OrderedDict
from collections.abc import Sequence
from datetime import datetime
from typing import Final
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.asymmetric.types import CertificatePublicKeyTypes
from cryptography.hazmat.primitives.hashes import SHA1, SHA256, HashAlgorithm

from ingest.answers import Reason, TurnedAway
from ingest.forms import JSON
from ingest.payloads import Payload, payload_of
from ingest.signatures.keys import strict_base64
from ingest.signatures.scheme import Errand, Headers, Proves, Scheme, SignatureRejected
from ingest.signatures.times import TOLERANCE_S, check_age
from schemas.sources import TOPIC_ARN

# One a region and a rotation; the oldest goes first.
MAX_CERTIFICATES: Final = 16
MAX_CONFIRMED: Final = 64

NOTIFICATION: Final = "Notification"
CONFIRMATION: Final = "SubscriptionConfirmation"
# In the byte order of the names. `Subject` counts only where it is there.
_FIELDS: Final = {
    NOTIFICATION: ("Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"),
    CONFIRMATION: (
        "Message",
        "MessageId",
        "SubscribeURL",
        "Timestamp",
        "Token",
        "TopicArn",
        "Type",
    ),
}
_FIELDS["UnsubscribeConfirmation"] = _FIELDS[CONFIRMATION]
_OPTIONAL: Final = "Subject"
# The second version is the one to choose for a topic; the first is SNS's own default.
_HASHES: Final[dict[str, HashAlgorithm]] = {"1": SHA1(), "2": SHA256()}  # noqa: S303  # SNS's own
_CERTIFICATE_PATH: Final = re.compile(r"/SimpleNotificationService-[0-9a-f]{32}\.pem")
_INSTANT: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z", re.ASCII)

_Certified = tuple[x509.Certificate, CertificatePublicKeyTypes]


class SnsVerifier:
    """Accepts what Amazon signed for one of these topics. Confirms a subscription to them.

    What it fetched is kept: certificates, and which subscriptions were confirmed.
    """

    def __init__(self, topics: Sequence[str], *, max_age_s: int = TOLERANCE_S) -> None:
        self._topics = frozenset(topics)
        self._max_age_s = max_age_s
        self._certificates: OrderedDict[str, _Certified] = OrderedDict()
        self._confirmed: OrderedDict[str, None] = OrderedDict()

    def verify(self, headers: Headers, body: bytes, *, now_s: float) -> str:  # noqa: ARG002  # all is in the body
        """The message's id, when Amazon signed it lately for one of the topics.

        Raises Errand for a certificate that is not here yet, and for the page that confirms a
        subscription, which is asked for only once the signature is good.
        """
        payload = _payload(body)
        topic = _there(payload, "TopicArn")
        if topic not in self._topics:
            raise SignatureRejected(Reason.SIGNATURE_WRONG)
        check_age(_instant(_there(payload, "Timestamp")), now_s=now_s, max_age_s=self._max_age_s)
        url = _there(payload, "SigningCertURL")
        if not (_is_amazons(url, topic) and _CERTIFICATE_PATH.fullmatch(urlsplit(url).path)):
            raise SignatureRejected(Reason.SIGNATURE_WRONG)
        if url not in self._certificates:
            raise Errand(url, lambda data: self._keep(url, data))
        _check(self._certificates[url], payload, now_s=now_s)
        message_id = _there(payload, "MessageId")
        if payload.text([("Type",)]) == CONFIRMATION and message_id not in self._confirmed:
            raise self._confirmation(_there(payload, "SubscribeURL"), topic, message_id)
        return message_id

    def _keep(self, url: str, data: bytes) -> None:
        try:
            certificate = x509.load_pem_x509_certificate(data)
            self._certificates[url] = certificate, certificate.public_key()
        except (ValueError, UnsupportedAlgorithm) as error:
            raise SignatureRejected(Reason.SIGNATURE_WRONG) from error
        if len(self._certificates) > MAX_CERTIFICATES:
            self._certificates.popitem(last=False)

    def _confirmation(self, url: str, topic: str, message_id: str) -> Errand:
        if not _is_amazons(url, topic):
            raise SignatureRejected(Reason.SIGNATURE_WRONG)

        def confirmed(_: bytes) -> None:
            self._confirmed[message_id] = None
            if len(self._confirmed) > MAX_CONFIRMED:
                self._confirmed.popitem(last=False)

        return Errand(url, confirmed)


SCHEME: Final = Scheme(
    proves=Proves.BODY,
    verifier=lambda _, source: SnsVerifier(source.topics, max_age_s=source.max_age_s),
)


def _payload(body: bytes) -> Payload:
    try:
        return payload_of(body, JSON, frozenset())
    except TurnedAway as error:
        raise SignatureRejected(error.reason) from error


def _there(payload: Payload, name: str) -> str:
    """The text of a member. Raises SignatureRejected."""
    text = payload.text([(name,)])
    if not text:
        raise SignatureRejected(Reason.SIGNATURE_MISSING)
    return text


def _instant(text: str) -> float:
    """SNS's way to write a time, as seconds. Raises SignatureRejected."""
    if not _INSTANT.fullmatch(text):
        raise SignatureRejected(Reason.SIGNATURE_MALFORMED)
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError as error:
        raise SignatureRejected(Reason.SIGNATURE_MALFORMED) from error


def _is_amazons(url: str, topic: str) -> bool:
    """Whether it is an https address at SNS, in the region of a topic of ours and nowhere else."""
    arn = TOPIC_ARN.fullmatch(topic)
    if arn is None:
        return False
    end = "amazonaws.com.cn" if topic.startswith("arn:aws-cn:") else "amazonaws.com"
    try:
        return urlsplit(url)[:2] == ("https", f"sns.{arn.group(1)}.{end}")
    except ValueError:
        return False


def _check(certified: _Certified, payload: Payload, *, now_s: float) -> None:
    """Return when the certificate's key signed the fields. Raises SignatureRejected."""
    certificate, key = certified
    is_of_now = (
        certificate.not_valid_before_utc.timestamp()
        <= now_s
        <= certificate.not_valid_after_utc.timestamp()
    )
    algorithm = _HASHES.get(_there(payload, "SignatureVersion"))
    signature = strict_base64(_there(payload, "Signature").encode())
    if signature is None or algorithm is None:
        raise SignatureRejected(Reason.SIGNATURE_MALFORMED)
    if not is_of_now or not isinstance(key, RSAPublicKey):
        raise SignatureRejected(Reason.SIGNATURE_WRONG)
    try:
        key.verify(signature, _signed(payload), PKCS1v15(), algorithm)
    except (InvalidSignature, UnsupportedAlgorithm) as error:
        raise SignatureRejected(Reason.SIGNATURE_WRONG) from error


def _signed(payload: Payload) -> bytes:
    """The text that is signed. Raises SignatureRejected where a member of it is missing."""
    names = _FIELDS.get(_there(payload, "Type"))
    if names is None:
        raise SignatureRejected(Reason.SIGNATURE_MALFORMED)
    lines = []
    for name in names:
        text = payload.text([(name,)])
        if text is None and name != _OPTIONAL:
            raise SignatureRejected(Reason.SIGNATURE_MISSING)
        lines += [] if text is None else [name, text]
    return "".join(f"{line}\n" for line in lines).encode()
