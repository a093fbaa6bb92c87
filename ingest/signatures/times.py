"""Whether a signature is of about now.

Owns: what a unix time in a delivery looks like, and how far it may be off.
May not: read a clock.
"""

import re
from typing import Final

from ingest.answers import Reason
from ingest.signatures.scheme import SignatureRejected

# Either way, for every scheme; a source may allow a longer past where its sender's contract has no
# window (max_age_s).
TOLERANCE_S: Final = 300

_SECONDS: Final = re.compile(rb"0|[1-9][0-9]{0,11}")


def seconds_in(text: bytes) -> int:
    """The whole seconds that stand there and nothing else. Raises SignatureRejected.

    A parser that takes more would let a time mean another than the one that was signed.
    """
    if not _SECONDS.fullmatch(text):
        raise SignatureRejected(Reason.SIGNATURE_MALFORMED)
    return int(text)


def check_age(signed_at_s: float, *, now_s: float, max_age_s: int = TOLERANCE_S) -> None:
    """Return when it was signed lately: an old capture is no proof. Raises SignatureRejected."""
    if signed_at_s < now_s - max_age_s:
        raise SignatureRejected(Reason.SIGNATURE_TOO_OLD)
    if signed_at_s > now_s + TOLERANCE_S:
        raise SignatureRejected(Reason.SIGNATURE_TOO_NEW)
