"""Records to bytes and back: strict JSON on topics, one error for anything that does not fit.

Owns: the encoder settings and the single way in which decoding fails.
May not: change a value on the way.
"""

from typing import Generic, TypeVar

import msgspec

from schemas.errors import DecodeError

RecordT = TypeVar("RecordT")

_ENCODER = msgspec.json.Encoder()


def to_json(value: object) -> bytes:
    """The record's bytes on a topic. The same value always gives the same bytes."""
    return _ENCODER.encode(value)


class Codec(Generic[RecordT]):
    """Decodes one kind of record. Made once a kind, because making a decoder is slow."""

    def __init__(self, kind: type[RecordT] | object) -> None:
        self._decoder: msgspec.json.Decoder[RecordT] = msgspec.json.Decoder(kind)

    def decode(self, data: bytes | None) -> RecordT:
        """The record in these bytes. Raises DecodeError for anything else, deletions included."""
        if data is None:
            raise DecodeError("no value")
        try:
            return self._decoder.decode(data)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise DecodeError(str(error)) from error
