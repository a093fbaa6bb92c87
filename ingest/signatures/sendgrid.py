"""SendGrid: ECDSA with SHA-256 over the time and the body's bytes.

Owns: the two headers and the form of the key. Source: providers.md 5.2.
May not: decode the body: multipart parts need not be text.
"""

import binascii
from base64 import b64decode
from collections.abc import Sequence
from typing import Final

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, EllipticCurvePublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_der_public_key

from ingest.answers import Reason
from ingest.signatures.keys import bounded, strict_base64
from ingest.signatures.scheme import BadSecret, Headers, Proves, Scheme, SignatureRejected
from ingest.signatures.times import TOLERANCE_S, check_age, seconds_in

SIGNATURE: Final = b"x-twilio-email-event-webhook-signature"
TIMESTAMP: Final = b"x-twilio-email-event-webhook-timestamp"


class SendGridVerifier:
    """Accepts what fits any one of its public keys."""

    def __init__(self, keys: Sequence[str], *, max_age_s: int = TOLERANCE_S) -> None:
        self._keys = [public_key_in(each) for each in keys]
        self._max_age_s = max_age_s

    def verify(self, headers: Headers, body: bytes, *, now_s: float) -> str:
        """Nothing: no delivery is named. Returns when these bytes fit one of the keys."""
        timestamp = bounded(headers.get(TIMESTAMP, b""))
        signature = strict_base64(bounded(headers.get(SIGNATURE, b"")))
        check_age(seconds_in(timestamp), now_s=now_s, max_age_s=self._max_age_s)
        if signature is None:
            raise SignatureRejected(Reason.SIGNATURE_MALFORMED)
        if not any(_is_good(key, signature, timestamp + body) for key in self._keys):
            raise SignatureRejected(Reason.SIGNATURE_WRONG)
        return ""


SCHEME: Final = Scheme(
    proves=Proves.BODY,
    verifier=lambda held, source: SendGridVerifier(held.secrets, max_age_s=source.max_age_s),
)


def public_key_in(secret: str) -> EllipticCurvePublicKey:
    """The public key in this text, base64 of its DER form. Raises BadSecret with what to do."""
    try:
        key = load_der_public_key(b64decode(secret.strip(), validate=True))
    except (binascii.Error, ValueError, UnsupportedAlgorithm) as error:
        raise BadSecret(
            "is no public key in base64: copy the verification key from the parse webhook's "
            "security policy"
        ) from error
    if not isinstance(key, EllipticCurvePublicKey):
        raise BadSecret("is a public key, but not one for ECDSA")
    return key


def _is_good(key: EllipticCurvePublicKey, signature: bytes, signed: bytes) -> bool:
    try:
        key.verify(signature, signed, ECDSA(SHA256()))
    except InvalidSignature:
        return False
    return True
