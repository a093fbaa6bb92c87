"""Sign a webhook body the way Svix does, for whoever plays the provider.

Owns: the signed bytes, the v1 signature and the three header names.
May not: verify; the door has its own verifier, written apart from this on purpose.
"""

import hmac
from base64 import b64decode, b64encode
from hashlib import sha256
from typing import Final

SECRET_PREFIX: Final = "whsec_"  # noqa: S105 - the mark of a secret, not one


def signed_headers(secret: str, delivery_id: str, *, timestamp: int, body: bytes) -> dict[str, str]:
    """The three svix-* headers that make this body genuine at this unix second.

    The same arguments always give the same headers. The delivery id stays the same over the
    retries of one event; the timestamp is that of the attempt. Raises ValueError for a secret that
    is not `whsec_` and base64.
    """
    key = _key_in(secret)
    signed = b".".join((delivery_id.encode(), str(timestamp).encode(), body))
    signature = b64encode(hmac.digest(key, signed, sha256)).decode()
    return {
        "svix-id": delivery_id,
        "svix-timestamp": str(timestamp),
        "svix-signature": f"v1,{signature}",
    }


def secret_of(key: bytes) -> str:
    """The written form of a signing key: `whsec_` and base64."""
    return SECRET_PREFIX + b64encode(key).decode()


def _key_in(secret: str) -> bytes:
    if not secret.startswith(SECRET_PREFIX):
        raise ValueError("a webhook secret starts with whsec_")
    return b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
