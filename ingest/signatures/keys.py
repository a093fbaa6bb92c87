"""Keys that a secret's text stands for, and signatures as text.

Owns: how short a text may be, and strict base64.
May not: know a scheme.
"""

import binascii
from base64 import b64decode, b64encode
from hmac import compare_digest
from typing import Final

from ingest.answers import Reason
from ingest.signatures.scheme import BadSecret, SignatureRejected

# A shorter text is a mistyped one; an empty one would be a key that anybody can sign with.
MIN_TEXT_BYTES: Final = 8
# Two secrets in rotation and two versions of each are 4 signatures of under 100 bytes. More than
# this is not read, so that a forger cannot buy work.
MAX_SIGNATURE_BYTES: Final = 2048


def text_key(secret: str) -> bytes:
    """The key that is the text itself, without outer white space. Raises BadSecret."""
    key = secret.strip().encode("utf-8", "surrogateescape")
    if len(key) < MIN_TEXT_BYTES:
        raise BadSecret(
            f"has {len(key)} bytes, and a secret has at least {MIN_TEXT_BYTES}: copy the whole "
            "secret from the webhook's page"
        )
    return key


def strict_base64(text: bytes) -> bytes | None:
    """What is written there, or None unless it is the one base64 text for it (RFC 4648 3.5)."""
    try:
        data = b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return data if b64encode(data) == text else None


def is_any_of(expected: bytes, given: list[bytes]) -> bool:
    """Whether one of these is the expected one, in the same time wherever they differ."""
    is_found = False
    for each in given:
        is_found |= compare_digest(expected, each)
    return is_found


def bounded(value: bytes) -> bytes:
    """The header's value, when it is there and not too long to be one. Raises SignatureRejected."""
    if not value:
        raise SignatureRejected(Reason.SIGNATURE_MISSING)
    if len(value) > MAX_SIGNATURE_BYTES:
        raise SignatureRejected(Reason.SIGNATURE_MALFORMED)
    return value
