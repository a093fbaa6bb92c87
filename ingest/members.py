"""Strict JSON objects: their members, each once, or the reason why not.

Owns: what is JSON here: RFC 8259, one object, nothing after it, no NaN, at most 64 levels.
May not: know a provider or a member's meaning, or build values that nobody asked for.
"""

from typing import Final

import msgspec

from ingest.answers import Reason, TurnedAway

# Deeper than any provider's payload by far, and far from where a parser's recursion ends.
MAX_LEVELS: Final = 64

Members = dict[str, msgspec.Raw]

_OBJECT: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_STRING: Final = msgspec.json.Decoder(str)
_NOT_STRUCTURE: Final = bytes(set(range(256)) - set(b'"[]{}:'))
_OPENING: Final = b"[{"
_COLON: Final = ord(":")


def top_members(text: bytes) -> Members:
    """The members of the one object that this text is.

    Levels are counted before the parser sees the text, so that nesting cannot exhaust its stack;
    members that nobody reads count too. Raises TurnedAway.
    """
    if text.count(b"{") + text.count(b"[") > MAX_LEVELS and _levels(text) > MAX_LEVELS:
        raise TurnedAway(Reason.TOO_DEEP)
    return members(text)


def members(text: bytes | msgspec.Raw) -> Members:
    """The members of an object whose levels were counted. Raises TurnedAway.

    A member that stands twice is refused: which of the two counts is each parser's own choice
    (RFC 8259 4), and an event must have one identity. Objects that are not read through here are
    not looked at: a mail's header map may well repeat a name, and its mail is still a mail.
    """
    try:
        found = _OBJECT.decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise TurnedAway(Reason.NOT_JSON) from error
    if not _is_all_of(found, text) and _count(bytes(memoryview(text))) != len(found):
        raise TurnedAway(Reason.TWICE)
    return found


def string(found: Members, name: str) -> str | None:
    """The member's string, or None when it is missing or anything else."""
    if name not in found:
        return None
    try:
        return _STRING.decode(found[name])
    except msgspec.MsgspecError:
        return None


def _is_all_of(found: Members, text: bytes | msgspec.Raw) -> bool:
    """True only if no member was dropped: these members, written without spaces, fill the text.

    A dropped one takes at least five bytes, and nothing makes up for it: names and values are
    never shorter in the text than here. Spares most bodies the count.
    """
    room = 1
    for name, value in found.items():
        room += len(name) + 4 + len(value)  # "name":value, or } for the last comma
    return room == len(text)


def _structure(text: bytes) -> bytes:
    """The brackets and colons that stand outside of strings, exact up to the first syntax error.

    Pairs of backslashes go first, so that a quote behind one that is left is escaped; then what
    stands between every other quote is inside a string.
    """
    if b"\\" in text:
        text = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    return b"".join(text.translate(None, _NOT_STRUCTURE).split(b'"')[::2])


def _levels(text: bytes) -> int:
    level = deepest = 0
    for mark in _structure(text).translate(None, b":"):
        level += 1 if mark in _OPENING else -1
        deepest = max(deepest, level)
    return deepest


def _count(text: bytes) -> int:
    level = count = 0
    for mark in _structure(text):
        if mark == _COLON:
            count += level == 1
        else:
            level += 1 if mark in _OPENING else -1
    return count
