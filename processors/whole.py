"""A record whose body lies in the store of large bodies, made whole before it is decided on.

Owns: which records name a blob, and what one weighs that has to be read first.
May not: decide, or keep a body.
"""

from typing import Final

from processors.core.turn import Record
from schemas.blobs import BLOB_REFERENCE, BlobReference, BlobStore
from schemas.errors import DecodeError, Refused
from schemas.headers import BLOB, BODY, header

# A topic's name has at most 249 characters, the rest of a reference some 300. Most bodies are
# longer, so most records need not be asked for a header.
MOST_REFERENCE_BYTES: Final = 1024


def whole(record: Record, store: BlobStore) -> Record:
    """The record with its body as its value.

    Raises Refused for a blob that is missing, altered or none of ours, Transient while the store is
    out of reach.
    """
    reference = reference_in(record)
    return record if reference is None else record._replace(value=store.read(reference))


def reference_in(record: Record) -> BlobReference | None:
    """What the record says of where its body lies; None where it is the value. Raises Refused."""
    if record.value is None or len(record.value) > MOST_REFERENCE_BYTES:
        return None
    kept = header(record.headers, BODY)
    if kept is None:
        return None
    if kept != BLOB:
        raise Refused("body is kept in a way that is not known")
    try:
        return BLOB_REFERENCE.decode(record.value)
    except DecodeError as error:
        raise Refused("no reference to a blob") from error


def weight(record: Record) -> int:
    """How many bytes have to be read from the store to decide on it."""
    try:
        reference = reference_in(record)
    except Refused:
        return 0
    return 0 if reference is None else max(0, reference.size_bytes)
