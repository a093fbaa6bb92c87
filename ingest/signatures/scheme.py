"""What a signature scheme offers, and the two errors in which it says no.

Owns: the words between the door and the schemes.
May not: know a scheme.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import msgspec

from ingest.answers import TurnedAway
from schemas.errors import Permanent

# Names in lower case, as ASGI gives them; a repeated header's values joined by ", " (RFC 9110 5.3).
Headers = Mapping[bytes, bytes]


class SignatureRejected(TurnedAway):
    """These headers do not prove this body."""


class BadSecret(Permanent):
    """Text that cannot be this scheme's secret. Says what to do, never the text."""


class Verifier(Protocol):
    """Checks deliveries of one source against its secrets of the moment."""

    def verify(self, headers: Headers, body: bytes, *, now_s: float) -> str:
        """The delivery's id, when one of the secrets signed these bytes at about this time.

        Raises SignatureRejected, and nothing else whatever the headers and the body are.
        """
        ...


class Scheme(msgspec.Struct, frozen=True, kw_only=True):
    """A scheme: what it proves (`body`), and its verifier for some secrets (raises BadSecret)."""

    proves: str
    verifier: Callable[[Sequence[str]], Verifier]
