"""A payload as places that hold texts, whether it is JSON or a form.

Owns: what a path of names leads to: members of objects, fields, JSON or mail headers inside a text.
May not: know a provider.
"""

import re
from collections.abc import Iterable, Mapping
from email.parser import HeaderParser
from email.policy import compat32
from typing import Final

import msgspec

from ingest import members
from ingest.answers import Reason, TurnedAway
from ingest.forms import JSON_TYPE, Kind, fields_in
from schemas.bodies import BYTE_ORDER_MARK, json_text

# Names, from the outside in. A text on the way is read as JSON; a last name that begins with a
# colon is a header's, in a text that is a block of mail headers.
Place = tuple[str, ...]

_LIST: Final = msgspec.json.Decoder(list[msgspec.Raw])
_STRING: Final = msgspec.json.Decoder(str)
# RFC 5322 2.1: a blank line ends the headers.
_BODY: Final = re.compile(r"\r?\n\r?\n")


class Payload:
    """One body's texts. `is_mended`: half surrogate pairs in it were replaced."""

    def __init__(self, top: Mapping[str, msgspec.Raw | bytes], *, is_mended: bool = False) -> None:
        self.top = top
        self.is_mended = is_mended
        self._objects: dict[Place, members.Members | None] = {}

    def text(self, places: Iterable[Place]) -> str | None:
        """The first text of these places, or None. A list is no text, not even one of one."""
        for place in places:
            if place and not self._is_list(place) and (found := self.texts(place)):
                return found[0]
        return None

    def texts(self, place: Place) -> list[str]:
        """The texts at a place: one, or all of a list. Raises TurnedAway for members twice."""
        *way, name = place
        if name.startswith(":"):
            return _mail_header(self.texts(tuple(way)), name[1:])
        value = self._value(place)
        if value is None or isinstance(value, bytes):
            return [] if value is None else [_text(value)]
        return _strings(value)

    def is_object(self, name: str) -> bool:
        """Whether this member of the whole is an object, and no text with one in it."""
        return _begins(self.top.get(name), b"{")

    def _is_list(self, place: Place) -> bool:
        return not place[-1].startswith(":") and _begins(self._value(place), b"[")

    def _value(self, place: Place) -> msgspec.Raw | bytes | None:
        *way, name = place
        holder = self._object(tuple(way)) if way else self.top
        return None if holder is None else holder.get(name)

    def _object(self, place: Place) -> members.Members | None:
        if place not in self._objects:
            value = self._value(place)
            self._objects[place] = None if value is None else _object_in(value)
        return self._objects[place]


def payload_of(body: bytes, kind: Kind, fields: frozenset[str]) -> Payload:
    """The body's payload; of a form, these fields. Raises TurnedAway with the reason why not."""
    if kind.name != JSON_TYPE:
        return Payload(fields_in(body, kind, fields))
    text = _utf8(body)
    is_mended = text != body.removeprefix(BYTE_ORDER_MARK)
    return Payload(members.top_members(text), is_mended=is_mended)


def _begins(value: msgspec.Raw | bytes | None, mark: bytes) -> bool:
    return isinstance(value, msgspec.Raw) and memoryview(value)[:1].tobytes() == mark


def _utf8(body: bytes) -> bytes:
    try:
        body.decode()
    except UnicodeDecodeError as error:
        raise TurnedAway(Reason.NOT_UTF8) from error
    return json_text(body)


def _text(field: bytes) -> str:
    """A field as text. Bytes that are no UTF-8 stay apart from each other: none is replaced."""
    return field.decode("utf-8", "surrogateescape")


def _strings(value: msgspec.Raw) -> list[str]:
    try:
        if _begins(value, b'"'):
            return [_STRING.decode(value)]
        if _begins(value, b"["):
            return [text for each in _LIST.decode(value) for text in _string(each)]
    except (msgspec.MsgspecError, UnicodeDecodeError):  # bytes in a form's JSON that are no text
        return []
    return []


def _string(value: msgspec.Raw) -> list[str]:
    return [_STRING.decode(value)] if _begins(value, b'"') else []


def _object_in(value: msgspec.Raw | bytes) -> members.Members | None:
    """The object that this is, or that this text holds, or None."""
    if isinstance(value, bytes):
        inner = value
    elif _begins(value, b"{"):
        return members.members(value)
    else:
        inner = "".join(_strings(value)).encode()
    try:
        return members.top_members(json_text(inner))
    except TurnedAway as error:
        if error.reason is Reason.NOT_JSON:  # a text that is no object is only a text
            return None
        raise


def _mail_header(blocks: list[str], name: str) -> list[str]:
    """The header's values in a block of mail headers, as they were written."""
    return [
        str(value)
        for block in blocks
        for each, value in HeaderParser(policy=compat32)
        .parsestr(_BODY.split(block, 1)[0])
        .raw_items()
        if each.lower() == name.lower()
    ]
