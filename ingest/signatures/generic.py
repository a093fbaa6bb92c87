"""An HMAC that the source itself describes, for a gateway or a worker of one's own.

Owns: how the description becomes the signed bytes. The fields are schemas.sources.Hmac.
May not: guess. What the description does not name does not count.
"""

import binascii
import hmac
import re
from base64 import b64decode, b64encode
from collections.abc import Sequence
from typing import Final

from ingest.answers import Reason
from ingest.signatures.keys import MIN_TEXT_BYTES, bounded, is_any_of, text_key
from ingest.signatures.scheme import BadSecret, Headers, Proves, Scheme, SignatureRejected
from ingest.signatures.times import check_age, seconds_in
from schemas.sources import Hmac, Source

MAX_DELIVERY_ID_BYTES: Final = 256

_PLACE: Final = re.compile(r"(\{\w*\})")


class GenericVerifier:
    """Accepts what any one of its secrets signed, so that a secret can be rotated."""

    def __init__(self, secrets: Sequence[str], description: Hmac, *, max_age_s: int) -> None:
        self._keys = [key_in(secret, description) for secret in secrets]
        self._description = description
        self._pieces = [each.encode() for each in _PLACE.split(description.signed)]
        self._max_age_s = max_age_s

    def verify(self, headers: Headers, body: bytes, *, now_s: float) -> str:
        """The delivery's id where one is signed, when one of the secrets signed all this."""
        described = self._description
        given = self._signatures(bounded(_value(headers, described.signature_header)))
        filled = {b"{body}": body}
        if described.timestamp_header:
            timestamp = filled[b"{timestamp}"] = _value(headers, described.timestamp_header)
            check_age(seconds_in(_there(timestamp)), now_s=now_s, max_age_s=self._max_age_s)
        delivery_id = _delivery_id(headers, described)
        filled[b"{id}"] = delivery_id.encode()
        signed = b"".join(filled.get(piece, piece) for piece in self._pieces)
        for key in self._keys:
            if is_any_of(self._expected(key, signed), given):
                return delivery_id
        raise SignatureRejected(Reason.SIGNATURE_WRONG)

    def _signatures(self, value: bytes) -> list[bytes]:
        """Those in the header that have the prefix; several stand there while a secret is rotated.

        A repeated header's values are joined with a comma, so that a comma ends one, too.
        """
        prefix = self._description.prefix.encode()
        if b"," not in prefix:
            value = value.replace(b",", b" ")
        given = [each.rstrip(b",") for each in value.split() if each.startswith(prefix)]
        return [self._spelt(each.removeprefix(prefix)) for each in given]

    def _spelt(self, signature: bytes) -> bytes:
        """Hexadecimal digits count in either case (RFC 4648 8); base64 has one spelling."""
        return signature.lower() if self._description.encoding == "hex" else signature

    def _expected(self, key: bytes, signed: bytes) -> bytes:
        digest = hmac.digest(key, signed, self._description.algorithm)
        return digest.hex().encode() if self._description.encoding == "hex" else b64encode(digest)


def key_in(secret: str, description: Hmac) -> bytes:
    """The key that a secret's text stands for. Raises BadSecret."""
    if description.key_encoding == "text":
        return text_key(secret)
    try:
        key = _DECODERS[description.key_encoding](secret.strip())
    except (binascii.Error, ValueError) as error:
        raise BadSecret(f"is not {description.key_encoding}, as key_encoding says") from error
    if len(key) < MIN_TEXT_BYTES:
        raise BadSecret(f"holds a key of {len(key)} bytes, and a key has at least {MIN_TEXT_BYTES}")
    return key


_DECODERS: Final = {
    "base64": lambda text: b64decode(text, validate=True),
    "hex": bytes.fromhex,
}


def _verifier(secrets: Sequence[str], source: Source) -> GenericVerifier:
    if source.hmac is None:
        raise BadSecret("has no table hmac that says how it signs")
    return GenericVerifier(secrets, source.hmac, max_age_s=source.max_age_s)


SCHEME: Final = Scheme(
    proves=Proves.BODY, verifier=lambda held, source: _verifier(held.secrets, source)
)


def _value(headers: Headers, name: str) -> bytes:
    return headers.get(name.lower().encode(), b"")


def _there(value: bytes) -> bytes:
    if not value:
        raise SignatureRejected(Reason.SIGNATURE_MISSING)
    return value


def _delivery_id(headers: Headers, described: Hmac) -> str:
    """The signed id; empty where the description names none."""
    if not described.id_header:
        return ""
    given = _there(_value(headers, described.id_header))
    try:
        if len(given) <= MAX_DELIVERY_ID_BYTES:
            return given.decode()
    except UnicodeDecodeError as error:
        raise SignatureRejected(Reason.SIGNATURE_MALFORMED) from error
    raise SignatureRejected(Reason.SIGNATURE_MALFORMED)
