"""What a signature scheme offers, and the errors in which it says no.

Owns: the words between the door and the schemes.
May not: know a scheme.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Protocol, runtime_checkable

import msgspec

from ingest.answers import TurnedAway
from schemas.errors import OneReplyError, Permanent
from schemas.sources import Source

# Names in lower case, as ASGI gives them; a repeated header's values joined by ", " (RFC 9110 5.3).
Headers = Mapping[bytes, bytes]
# The end of the path, for schemes in which it is a secret: no header's name has a colon.
PATH = b":path-secret"


class SignatureRejected(TurnedAway):
    """These headers do not prove this body."""


class BadSecret(Permanent):
    """Text that cannot be this scheme's secret. Says what to do, never the text."""


class Errand(OneReplyError):
    """Something that must be fetched before a delivery can be judged; then it is judged anew.

    `take` is given the bytes that the address holds. Raises SignatureRejected when they are of no
    use.
    """

    def __init__(self, url: str, take: Callable[[bytes], None]) -> None:
        super().__init__(url)
        self.url = url
        self.take = take


class Proves(StrEnum):
    """What an accepted delivery proves: the value of the record's header `onereply-proof`.

    BODY: whoever holds the key sent these very bytes. SENDER: whoever holds the key made a token,
    and the body beside it may be anybody's. NEITHER: nothing is signed; the sender knew a password.
    """

    BODY = "body"
    SENDER = "sender"
    NEITHER = "neither"


class Verifier(Protocol):
    """Checks deliveries of one source against its secrets of the moment."""

    def verify(self, headers: Headers, body: bytes, *, now_s: float) -> str:
        """The delivery's id as far as it is proven (else empty), when the proof is good.

        Raises SignatureRejected, or Errand where the scheme has any, and nothing else whatever the
        headers and the body are.
        """
        ...


@runtime_checkable
class PartsVerifier(Protocol):
    """A verifier that can also check a body which is never held whole."""

    def verify_parts(self, headers: Headers, parts: Iterable[bytes], *, now_s: float) -> str:
        """What `verify` says of the same bytes joined; they are read once, from first to last."""
        ...


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """What a source's variables hold at the moment."""

    secrets: Sequence[str] = ()
    paths: Sequence[str] = ()


class Scheme(msgspec.Struct, frozen=True, kw_only=True):
    """A scheme: what it proves, and its verifier for what a source holds (raises BadSecret)."""

    proves: Proves
    verifier: Callable[[Held, Source], Verifier]
