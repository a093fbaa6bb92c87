"""Svix and Standard Webhooks: v1, HMAC-SHA256, and v1a, ed25519, over id, time and body.

Owns: which headers count, what a time is, and the comparison. The svix library computes the
signature that the bytes should carry; docs/decisions/0002-who-verifies.md says why it does no more.
May not: read a clock, or let an exception of the library out.
"""

import binascii
import hmac
from base64 import b64decode, b64encode
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Final

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from svix.webhooks import Webhook

from ingest.answers import Reason
from ingest.signatures.keys import MAX_SIGNATURE_BYTES, is_any_of, strict_base64
from ingest.signatures.scheme import BadSecret, Headers, Proves, Scheme, SignatureRejected
from ingest.signatures.times import check_age, seconds_in

SECRET_PREFIX: Final = "whsec_"  # noqa: S105  # the mark before a secret, not one
# Standard Webhooks: the two halves of an ed25519 key. Only the sender has the private one.
PUBLIC_PREFIX: Final = "whpk_"
PRIVATE_PREFIX: Final = "whsk_"
PUBLIC_KEY_BYTES: Final = 32
# Standard Webhooks: a key has at least 24 bytes. A shorter one is a mistyped one.
MIN_KEY_BYTES: Final = 24
MAX_DELIVERY_ID_BYTES: Final = 256

_SETS: Final = tuple(
    tuple(f"{prefix}-{part}".encode() for part in ("id", "timestamp", "signature"))
    for prefix in ("svix", "webhook")
)


class _Given(msgspec.Struct, frozen=True):
    delivery_id: bytes
    timestamp: bytes
    signatures: bytes


class SvixVerifier:
    """Accepts what any one of its secrets signed, so that a secret can be rotated."""

    def __init__(self, secrets: Sequence[str]) -> None:
        texts = [secret.strip() for secret in secrets]
        self._keys = [key_in(each) for each in texts if not _is_asymmetric(each)]
        self._signers = [Webhook(key) for key in self._keys]
        self._public_keys = [public_key_in(each) for each in texts if _is_asymmetric(each)]

    def verify(self, headers: Headers, body: bytes, *, now_s: float) -> str:
        """The delivery's id, when one of the secrets signed these bytes at about this time."""
        given = _one_whole_set(headers)
        seconds = seconds_in(given.timestamp)
        check_age(seconds, now_s=now_s)
        delivery_id = _text(given.delivery_id)
        if self._is_signed(given, datetime.fromtimestamp(seconds, UTC), body):
            return delivery_id
        raise SignatureRejected(Reason.SIGNATURE_WRONG)

    def verify_parts(self, headers: Headers, parts: Iterable[bytes], *, now_s: float) -> str:
        """The same for a long body in parts, of which the library would make five copies.

        A public key takes the whole: ed25519 reads it twice.
        """
        if self._public_keys:
            return self.verify(headers, b"".join(parts), now_s=now_s)
        given = _one_whole_set(headers)
        check_age(seconds_in(given.timestamp), now_s=now_s)
        delivery_id = _text(given.delivery_id)
        start = given.delivery_id + b"." + given.timestamp + b"."
        digests = [hmac.new(key, start, "sha256") for key in self._keys]
        for part in parts:
            for digest in digests:
                digest.update(part)
        signatures = given.signatures.split()
        if any(is_any_of(b"v1," + b64encode(each.digest()), signatures) for each in digests):
            return delivery_id
        raise SignatureRejected(Reason.SIGNATURE_WRONG)

    def _is_signed(self, given: _Given, signed_at: datetime, body: bytes) -> bool:
        signatures = given.signatures.split()
        signed = b".".join((given.delivery_id, given.timestamp, body))
        if self._public_keys and any(
            _is_good(key, each.removeprefix(b"v1a,"), signed)
            for key in self._public_keys
            for each in signatures
            if each.startswith(b"v1a,")
        ):
            return True
        if not self._signers:
            return False
        delivery_id, text = given.delivery_id.decode(), _text(body)
        symmetric = [each for each in signatures if each.startswith(b"v1,")]
        return any(
            is_any_of(signer.sign(delivery_id, signed_at, text).encode(), symmetric)
            for signer in self._signers
        )


SCHEME: Final = Scheme(proves=Proves.BODY, verifier=lambda held, _: SvixVerifier(held.secrets))


def public_key_in(secret: str) -> Ed25519PublicKey:
    """The sender's public key, from `whpk_` and base64. Raises BadSecret with what to do."""
    if secret.startswith(PRIVATE_PREFIX):
        raise BadSecret("is the sender's private key: take the public one, which begins with whpk_")
    text = secret.removeprefix(PUBLIC_PREFIX).encode("ascii", "replace").rstrip(b"=")
    data = strict_base64(text + b"=" * (-len(text) % 4))
    if data is None or len(data) != PUBLIC_KEY_BYTES:
        raise BadSecret(
            f"is not whpk_ followed by the base64 of {PUBLIC_KEY_BYTES} bytes: copy the whole "
            "public key from the webhook's page"
        )
    return Ed25519PublicKey.from_public_bytes(data)


def _is_asymmetric(secret: str) -> bool:
    return secret.startswith((PUBLIC_PREFIX, PRIVATE_PREFIX))


def _is_good(key: Ed25519PublicKey, signature: bytes, signed: bytes) -> bool:
    data = strict_base64(signature)
    if data is None:
        return False
    try:
        key.verify(data, signed)
    except InvalidSignature:
        return False
    return True


def key_in(secret: str) -> bytes:
    """The key that a secret's text stands for. Raises BadSecret with what to do.

    Outer white space, the prefix and the padding are optional; anything else that is not base64 of
    a whole key is refused here, because a lenient decoder would make another key of it, even an
    empty one that anybody could sign with.
    """
    text = secret.strip().removeprefix(SECRET_PREFIX).rstrip("=")
    try:
        key = b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadSecret(
            "is not whsec_ followed by base64: copy it again from the webhook's page, without any "
            "label before it"
        ) from error
    if len(key) < MIN_KEY_BYTES:
        raise BadSecret(
            f"holds a key of {len(key)} bytes, and a key has at least {MIN_KEY_BYTES}: copy the "
            "whole secret from the webhook's page"
        )
    return key


def _one_whole_set(headers: Headers) -> _Given:
    """The first complete set. One that is mixed from both names was put together by nobody."""
    for names in _SETS:
        values = [headers.get(name, b"") for name in names]
        if all(values):
            return _bounded(_Given(*values))
    raise SignatureRejected(Reason.SIGNATURE_MISSING)


def _bounded(given: _Given) -> _Given:
    is_short = len(given.delivery_id) <= MAX_DELIVERY_ID_BYTES
    if not is_short or len(given.signatures) > MAX_SIGNATURE_BYTES:
        raise SignatureRejected(Reason.SIGNATURE_MALFORMED)
    return given


def _text(data: bytes) -> str:
    """The library signs text: bytes that are none cannot have been signed through it."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise SignatureRejected(Reason.NOT_UTF8) from error
