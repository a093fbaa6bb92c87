"""Idempotency keys: one key, one mail, for 24 hours from the end of the send.

Owns: the key's alphabet, its life, and what a second request under a key gets.
May not: tell a key that is in flight from one that belongs to other content: the provider's 409
does not, and a client must cope with that.
"""

import re
from collections import OrderedDict
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Final, TypeAlias

from msgspec import Struct

KEY_LIFE: Final = timedelta(hours=24)
KEY: Final = re.compile(r"[A-Za-z0-9._~-]{1,256}")


class Answer(Struct, frozen=True, kw_only=True):
    """What an accepted send is answered, the first time and every time."""

    message_id: str
    thread_id: str


class Fresh(Struct, frozen=True):
    """The key is taken for this request: send, then complete or release it."""


class Repeated(Struct, frozen=True):
    """The same request was answered before; this is that answer."""

    answer: Answer


class Conflict(Struct, frozen=True):
    """The key is in flight, or belongs to another request."""


Claim: TypeAlias = Fresh | Repeated | Conflict


class _InFlight(Struct, frozen=True):
    """A first request is still running."""


class _Settling(Struct, frozen=True):
    """A first request failed; the key is usable again from this instant."""

    free_at: datetime


class _Completed(Struct, frozen=True):
    """The send was made."""

    fingerprint: str
    answer: Answer
    completed_at: datetime


class Keys:
    """The keys of one organisation. Completed ones are held for their life and then dropped."""

    def __init__(self) -> None:
        self._rows: OrderedDict[str, _InFlight | _Settling | _Completed] = OrderedDict()

    def claim(self, key: str, fingerprint: str, *, now: datetime) -> Claim:
        """Take the key for a request with this fingerprint, or say why it cannot be taken."""
        self._drop_expired(now)
        match self._rows.get(key):
            case _Completed() as row if now - row.completed_at < KEY_LIFE:
                same = row.fingerprint == fingerprint
                return Repeated(row.answer) if same else Conflict()
            case _InFlight():
                return Conflict()
            case _Settling(free_at) if now < free_at:
                return Conflict()
        self._rows[key] = _InFlight()
        return Fresh()

    def complete(self, key: str, fingerprint: str, *, answer: Answer, now: datetime) -> None:
        """The send was made: the key's life begins."""
        self._rows[key] = _Completed(fingerprint, answer, now)
        self._rows.move_to_end(key)

    def release(self, key: str) -> None:
        """The send failed: the key can be used again at once."""
        if isinstance(self._rows.get(key), _InFlight):
            del self._rows[key]

    def settle(self, key: str, *, free_at: datetime) -> None:
        """The send failed: the key can be used again from this instant. Completed keys stay."""
        if key not in self._rows:
            self._rows[key] = _Settling(free_at)

    def _drop_expired(self, now: datetime) -> None:
        # Completed keys stand in the order of completion; the first live one ends the search.
        while self._rows:
            key, row = next(iter(self._rows.items()))
            expired = (isinstance(row, _Completed) and now - row.completed_at >= KEY_LIFE) or (
                isinstance(row, _Settling) and row.free_at <= now
            )
            if not expired:
                return
            del self._rows[key]


def fingerprint_of(operation: str, *ids: str, body: bytes) -> str:
    """Names a request's endpoint, inbox and content: each part carries its length.

    Content is compared byte by byte. The provider may be kinder; a client that stores its request
    and repeats it as it was never depends on that.
    """
    parts = (operation.encode(), *(part.encode("utf-8", "surrogatepass") for part in ids), body)
    framed = b"".join(len(part).to_bytes(8, "big") + part for part in parts)
    return sha256(framed).hexdigest()
