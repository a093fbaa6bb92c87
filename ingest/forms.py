"""Bodies that are forms: which kind a body is, and the fields of one.

Owns: the content types, and the bounds of a form. The python-multipart library reads the bytes.
May not: know a provider, or look into a field.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import unquote_to_bytes

import msgspec
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, QuerystringParser, parse_options_header

from ingest.answers import Reason, TurnedAway

JSON_TYPE: Final = "application/json"
URLENCODED: Final = "application/x-www-form-urlencoded"
MULTIPART: Final = "multipart/form-data"
# Amazon SNS says so of its JSON (providers.md 5.4).
TEXT: Final = "text/plain"

# A mail's headers as fields and its attachments are some hundred.
MAX_FIELDS: Final = 2_000
MAX_NAME_BYTES: Final = 256
# RFC 2046 5.1.1, and nothing that would need quoting rules to be read again.
_BOUNDARY: Final = re.compile(rb"[0-9A-Za-z'()+_,./:=?-]{1,70}")


class Kind(msgspec.Struct, frozen=True):
    """What a body is, as its content type says; `boundary` where its parts need one."""

    name: str
    boundary: bytes = b""

    @property
    def content_type(self) -> bytes:
        """The content type that a reader of the record needs."""
        if self.name == MULTIPART:
            return MULTIPART.encode() + b'; boundary="' + self.boundary + b'"'
        return self.name.encode()


JSON: Final = Kind(JSON_TYPE)


def kind_of(headers: Mapping[bytes, bytes], takes: Iterable[str]) -> Kind:
    """The kind of a body with these headers, for a source that takes these types.

    No type at all is for the receiver to judge (RFC 9110 8.3): it is JSON, whose parser is strict.
    Raises TurnedAway for a type that the source does not take.
    """
    given, options = parse_options_header(headers.get(b"content-type", b"").decode("latin-1"))
    name = given.strip().decode("latin-1") or JSON_TYPE
    if name.startswith("application/") and name.endswith("+json"):
        name = JSON_TYPE
    if name not in takes:
        raise TurnedAway(Reason.WRONG_TYPE)
    if name == MULTIPART:
        boundary = options.get(b"boundary", b"")
        if not _BOUNDARY.fullmatch(boundary):
            raise TurnedAway(Reason.WRONG_TYPE)
        return Kind(MULTIPART, boundary)
    return Kind(name) if name == URLENCODED else JSON


def fields_in(body: bytes, kind: Kind, wanted: frozenset[str]) -> dict[str, bytes]:
    """The wanted fields of a form, each as its bytes. Others are skipped, not kept.

    A wanted field that stands twice is refused, as a JSON member is: an event has one identity.
    Raises TurnedAway.
    """
    fields = _Fields(frozenset(each.encode() for each in wanted))
    parse = _multipart if kind.name == MULTIPART else _urlencoded
    try:
        parse(body, kind, fields)
    except FormParserError as error:
        raise TurnedAway(Reason.NOT_FORM) from error
    return {name.decode(): value for name, value in fields.found.items()}


class _Fields:
    """Takes the fields as they come."""

    def __init__(self, wanted: frozenset[bytes]) -> None:
        self.found: dict[bytes, bytes] = {}
        self._wanted = wanted
        self._count = 0

    def wants(self, name: bytes) -> bool:
        self._count += 1
        if self._count > MAX_FIELDS:
            raise TurnedAway(Reason.NOT_FORM)
        return name in self._wanted

    def take(self, name: bytes, value: bytes) -> None:
        if name in self.found:
            raise TurnedAway(Reason.TWICE)
        self.found[name] = value


def _urlencoded(body: bytes, _: Kind, fields: _Fields) -> None:
    name, value = bytearray(), bytearray()

    def begin() -> None:
        name.clear()
        value.clear()

    def end() -> None:
        plain = _plain(name) if len(name) <= MAX_NAME_BYTES else b""
        if fields.wants(plain):
            fields.take(plain, _plain(value))

    parser = QuerystringParser(
        {
            "on_field_start": begin,
            "on_field_name": lambda data, start, stop: name.extend(data[start:stop]),
            "on_field_data": lambda data, start, stop: value.extend(data[start:stop]),
            "on_field_end": end,
        }
    )
    parser.write(body)
    parser.finalize()


def _plain(text: bytearray) -> bytes:
    return unquote_to_bytes(bytes(text).replace(b"+", b" "))


class _Part:
    """The part that is being read: its headers, and its data where somebody wants it."""

    def __init__(self, fields: _Fields) -> None:
        self._fields = fields
        self.is_over = False
        self.begin()

    def begin(self) -> None:
        self.header, self.value, self.disposition = bytearray(), bytearray(), b""
        self.name, self.data, self.is_wanted = b"", bytearray(), False

    def header_end(self) -> None:
        if bytes(self.header).lower() == b"content-disposition":
            self.disposition = bytes(self.value)
        self.header, self.value = bytearray(), bytearray()

    def headers_end(self) -> None:
        _, options = parse_options_header(self.disposition.decode("latin-1"))
        self.name = options.get(b"name", b"")
        self.is_wanted = self._fields.wants(self.name)

    def on_data(self, data: bytes, start: int, stop: int) -> None:
        if self.is_wanted:
            self.data += data[start:stop]

    def end(self) -> None:
        if self.is_wanted:
            self._fields.take(self.name, bytes(self.data))

    def over(self) -> None:
        self.is_over = True


def _multipart(body: bytes, kind: Kind, fields: _Fields) -> None:
    part = _Part(fields)
    callbacks: dict[str, Any] = {
        "on_part_begin": part.begin,
        "on_header_field": lambda data, start, stop: part.header.extend(data[start:stop]),
        "on_header_value": lambda data, start, stop: part.value.extend(data[start:stop]),
        "on_header_end": part.header_end,
        "on_headers_finished": part.headers_end,
        "on_part_data": part.on_data,
        "on_part_end": part.end,
        "on_end": part.over,
    }
    parser = MultipartParser(kind.boundary, callbacks)  # type: ignore[arg-type]
    parser.write(body)
    parser.finalize()
    if not part.is_over:  # cut: the sender's next try brings the whole form
        raise TurnedAway(Reason.NOT_FORM)
