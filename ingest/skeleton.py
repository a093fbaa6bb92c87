"""A large JSON text without its long strings: small, and names the same.

What makes a webhook large is a few long strings: texts, and attachments in base64. Whatever names
an event is short. So the text is read once, in parts, and every string that is longer than any id
may be stands in the skeleton as an empty one. The strings left out are checked here, by RFC 8259 7;
what is left is for the parser that reads small bodies.

Owns: what counts as a long string, and how much may be left.
May not: look for a meaning, or hold more than one part and the skeleton.
"""

import codecs
import re
from typing import Final

from ingest.answers import Reason, TurnedAway

# Ids have at most 2 kB (schemas.keys); an escaped character takes six bytes for one.
LONG_STRING_BYTES: Final = 16 * 1024
# Two thousand attachments or headers take a tenth of it.
MOST_BYTES: Final = 2 * 1024 * 1024

# Whole characters of a string. Possessive, so that nothing is kept to go back to.
_CHARACTERS: Final = re.compile(
    rb'(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+', re.DOTALL
)
_LONGEST_ESCAPE: Final = len(rb"\u0000")
_QUOTE: Final = ord('"')
_BACKSLASH: Final = ord("\\")


class Whole:
    """All of a body that has no skeleton: a form."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def add(self, part: bytes) -> None:
        """Keep it."""
        self._parts.append(part)

    def whole(self) -> bytes:
        """All of it."""
        return b"".join(self._parts)


class Skeleton:
    """What is left of a text, part by part."""

    def __init__(self) -> None:
        self._left = bytearray()
        self._string: bytearray | None = None
        self._string_bytes = 0
        self._rest = b""
        self._decode = codecs.getincrementaldecoder("utf-8")().decode

    def add(self, part: bytes) -> None:
        """Read on. Raises TurnedAway."""
        try:
            self._decode(part)
        except UnicodeDecodeError as error:
            raise TurnedAway(Reason.NOT_UTF8) from error
        text, at = self._rest + part, 0
        self._rest = b""
        while at < len(text) and not self._rest:
            at = self._outside(text, at) if self._string is None else self._inside(text, at)
        if len(self._left) > MOST_BYTES:
            raise TurnedAway(Reason.BODY_TOO_LARGE)

    def whole(self) -> bytes:
        """The skeleton. Raises TurnedAway when the text ends in the middle of something."""
        try:
            self._decode(b"", True)  # noqa: FBT003  # the library's own signature
        except UnicodeDecodeError as error:
            raise TurnedAway(Reason.NOT_UTF8) from error
        if self._string is not None:
            raise TurnedAway(Reason.NOT_JSON)
        return bytes(self._left)

    def _outside(self, text: bytes, at: int) -> int:
        start = text.find(b'"', at)
        if start < 0:
            self._left += text[at:]
            return len(text)
        self._left += text[at : start + 1]
        self._string, self._string_bytes = bytearray(), 0
        return start + 1

    def _inside(self, text: bytes, at: int) -> int:
        found = _CHARACTERS.match(text, at)
        end = at if found is None else found.end()
        self._lengthen(text[at:end])
        if end == len(text):
            return end
        if text[end] == _QUOTE:
            self._left += (self._string or b"") + b'"'
            self._string = None
            return end + 1
        if text[end] == _BACKSLASH and len(text) - end < _LONGEST_ESCAPE:
            self._rest = text[end:]
            return end
        raise TurnedAway(Reason.NOT_JSON)

    def _lengthen(self, more: bytes) -> None:
        self._string_bytes += len(more)
        if self._string is not None and self._string_bytes <= LONG_STRING_BYTES:
            self._string += more
        else:
            self._string = bytearray()
