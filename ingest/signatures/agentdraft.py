"""AgentDraft: `X-AgentDraft-Signature: t=SECONDS,v1=HEX`, HMAC-SHA256 over time and body.

Owns: the header's shape. Source: providers.md 4.2.
May not: read a clock, or take an event's id from the header: its time is the attempt's.
"""

import hmac
from collections.abc import Sequence
from typing import Final

from ingest.answers import Reason
from ingest.signatures.keys import bounded, is_any_of, text_key
from ingest.signatures.scheme import Headers, Proves, Scheme, SignatureRejected
from ingest.signatures.times import check_age, seconds_in

HEADER: Final = b"x-agentdraft-signature"


class AgentDraftVerifier:
    """Accepts what any one of its secrets signed, so that a secret can be rotated."""

    def __init__(self, secrets: Sequence[str]) -> None:
        self._keys = tuple(map(text_key, secrets))

    def verify(self, headers: Headers, body: bytes, *, now_s: float) -> str:
        """Nothing: the header names no delivery. Returns when one of the secrets signed this."""
        timestamp, signatures = _parts(bounded(headers.get(HEADER, b"")))
        check_age(seconds_in(timestamp), now_s=now_s)
        signed = timestamp + b"." + body
        for key in self._keys:
            if is_any_of(hmac.digest(key, signed, "sha256").hex().encode(), signatures):
                return ""
        raise SignatureRejected(Reason.SIGNATURE_WRONG)


SCHEME: Final = Scheme(
    proves=Proves.BODY, verifier=lambda held, _: AgentDraftVerifier(held.secrets)
)


def _parts(value: bytes) -> tuple[bytes, list[bytes]]:
    """The one time and every v1 signature; other versions may stand beside them."""
    parts = [each.strip().partition(b"=") for each in value.split(b",")]
    times = [given for name, _, given in parts if name == b"t"]
    if len(times) != 1:
        raise SignatureRejected(Reason.SIGNATURE_MALFORMED)
    return times[0], [given for name, _, given in parts if name == b"v1"]
