"""Svix and Standard Webhooks v1: HMAC-SHA256 over id, time and body.

Owns: which headers count, what a time is, and the comparison. The svix library computes the
signature that the bytes should carry; docs/decisions/0002-who-verifies.md says why it does no more.
May not: read a clock, or let an exception of the library out.
"""

import binascii
import re
from base64 import b64decode
from collections.abc import Sequence
from datetime import UTC, datetime
from hmac import compare_digest
from typing import Final

import msgspec
from svix.webhooks import Webhook

from ingest.answers import Reason
from ingest.signatures.scheme import BadSecret, Headers, Scheme, SignatureRejected

SECRET_PREFIX: Final = "whsec_"  # noqa: S105  # the mark before a secret, not one
# Standard Webhooks: a key has at least 24 bytes. A shorter one is a mistyped one.
MIN_KEY_BYTES: Final = 24
TOLERANCE_S: Final = 300
# Two secrets in rotation and two versions of each are 4 signatures of under 100 bytes. More than
# this is not read, so that a forger cannot buy work.
MAX_SIGNATURE_BYTES: Final = 2048
MAX_DELIVERY_ID_BYTES: Final = 256

_SETS: Final = tuple(
    tuple(f"{prefix}-{part}".encode() for part in ("id", "timestamp", "signature"))
    for prefix in ("svix", "webhook")
)
_SECONDS: Final = re.compile(rb"0|[1-9][0-9]{0,11}")


class _Given(msgspec.Struct, frozen=True):
    delivery_id: bytes
    timestamp: bytes
    signatures: bytes


class SvixVerifier:
    """Accepts what any one of its secrets signed, so that a secret can be rotated."""

    def __init__(self, secrets: Sequence[str]) -> None:
        self._signers = tuple(Webhook(key_in(secret)) for secret in secrets)

    def verify(self, headers: Headers, body: bytes, *, now_s: float) -> str:
        """The delivery's id, when one of the secrets signed these bytes at about this time."""
        given = _one_whole_set(headers)
        signed_at = _signed_at(given.timestamp, now_s)
        delivery_id, text = _text(given.delivery_id), _text(body)
        signatures = [each for each in given.signatures.split() if each.startswith(b"v1,")]
        for signer in self._signers:
            expected = signer.sign(delivery_id, signed_at, text).encode()
            if any(compare_digest(expected, each) for each in signatures):
                return delivery_id
        raise SignatureRejected(Reason.SIGNATURE_WRONG)


SCHEME: Final = Scheme(proves="body", verifier=SvixVerifier)


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


def _signed_at(timestamp: bytes, now_s: float) -> datetime:
    """The attempt's time, at most five minutes from now either way: an old capture is no proof."""
    if not _SECONDS.fullmatch(timestamp):
        raise SignatureRejected(Reason.SIGNATURE_MALFORMED)
    seconds = int(timestamp)
    if seconds < now_s - TOLERANCE_S:
        raise SignatureRejected(Reason.SIGNATURE_TOO_OLD)
    if seconds > now_s + TOLERANCE_S:
        raise SignatureRejected(Reason.SIGNATURE_TOO_NEW)
    return datetime.fromtimestamp(seconds, UTC)


def _text(data: bytes) -> str:
    """The library signs text: bytes that are none cannot have been signed through it."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise SignatureRejected(Reason.NOT_UTF8) from error
