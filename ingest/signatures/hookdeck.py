"""Hookdeck, a relay: `X-Hookdeck-Signature`, base64 of the body's HMAC-SHA256.

Owns: which two headers count. Source: providers.md 4.4.
May not: look at the inner provider's signature or its time. The relay waits, retries and is paused,
so an inner time of more than five minutes ago says nothing; that the inner provider is who it says
is the relay's to verify, on its own page.
"""

import hmac
from base64 import b64encode
from collections.abc import Sequence
from typing import Final

from ingest.answers import Reason
from ingest.signatures.keys import bounded, is_any_of, text_key
from ingest.signatures.scheme import Headers, Proves, Scheme, SignatureRejected

# The second one is there while a secret is rotated.
HEADERS: Final = (b"x-hookdeck-signature", b"x-hookdeck-signature-2")


class HookdeckVerifier:
    """Accepts what any one of its secrets signed. No time is signed: a repeat is a duplicate."""

    def __init__(self, secrets: Sequence[str]) -> None:
        self._keys = tuple(map(text_key, secrets))

    def verify(self, headers: Headers, body: bytes, *, now_s: float) -> str:  # noqa: ARG002  # no time is signed
        """Nothing: the relay's own event id stands in a header that it does not sign."""
        given = [bounded(headers[name]) for name in HEADERS if headers.get(name)]
        if not given:
            raise SignatureRejected(Reason.SIGNATURE_MISSING)
        for key in self._keys:
            if is_any_of(b64encode(hmac.digest(key, body, "sha256")), given):
                return ""
        raise SignatureRejected(Reason.SIGNATURE_WRONG)


SCHEME: Final = Scheme(proves=Proves.BODY, verifier=lambda held, _: HookdeckVerifier(held.secrets))
