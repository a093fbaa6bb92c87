"""What every provider's payload is lifted with: strings, ids, header signals, hashes.

Payloads drift: a field may be missing, null or of another shape, and none of that is an error.
Ids are opaque (schemas.keys): found, trimmed and compared, never decoded or judged.

Owns: the one way in which loose values become fields of the common event.
May not: know a provider, parse an address or a body, or raise for a field's shape.
"""

from collections.abc import Iterable
from hashlib import sha256
from itertools import islice
from typing import Final

import msgspec

from processors.core.signals import SIGNAL_FIELDS
from schemas.keys import (
    MAX_ID_BYTES,
    MessageId,
    ThreadKey,
    canonical_id,
)

# A mail names few ids that matter; the most that Cloudflare lets a reply carry (providers.md 5.5).
PARENT_LIMIT: Final = 100

_THREADING: Final = frozenset({"in-reply-to", "references"})
_USEFUL: Final = SIGNAL_FIELDS | _THREADING

_PACK: Final = msgspec.msgpack.Encoder().encode

Headers = dict[str, tuple[str, ...]]


def text_of(value: object) -> str | None:
    """The value where it is text, blank or not; None for anything else."""
    return value if isinstance(value, str) else None


def id_of(value: object) -> str | None:
    """The comparison form of an id, or None where it is no text, blank, or above 2 kB."""
    if not isinstance(value, str) or (found := canonical_id(value)) is None:
        return None
    # Four bytes are the most that one character takes: most ids need not be encoded to know.
    if len(found) * 4 > MAX_ID_BYTES and len(found.encode("utf-8", "surrogatepass")) > MAX_ID_BYTES:
        return None
    return found


def addresses_of(value: object) -> tuple[str, ...]:
    """Each address as a header would write it, from text, an object, or a list of either."""
    if value is None:
        return ()
    if isinstance(value, list):
        return tuple([found for item in value if (found := _address(item)) is not None])
    found = _address(value)
    return () if found is None else (found,)


def _address(value: object) -> str | None:
    if isinstance(value, str):
        return value if value.strip() else None
    return _mailbox(value) if isinstance(value, dict) else None


def _mailbox(value: dict[str, object]) -> str | None:
    address = next(
        (each for name in ("email", "address") if isinstance(each := value.get(name), str)), ""
    )
    if not address.strip():
        return None
    name = value.get("name")
    if not isinstance(name, str) or not name.strip():
        return address
    # Quoted, so that a name with brackets or commas of its own cannot add an address.
    quoted = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{quoted}" <{address}>'


def ids_in(value: object) -> list[str]:
    """The ids in a field that holds many, in their order: from text, or from a list of texts.

    Between bracketed ids may stand white space, commas, comments or nothing.
    """
    if isinstance(value, str):
        return _ids(_bracketed(value) or value.replace(",", " ").split())
    if isinstance(value, list):
        return [each for item in value if isinstance(item, str) for each in answered_in(item)]
    return []


def answered_in(value: object) -> list[str]:
    """The ids in a field that should hold one: those in brackets, else the text if it is one word.

    Bare prose ("Your message of Monday") is no id: it would join the threads of strangers.
    """
    if not isinstance(value, str):
        return ids_in(value)
    return _ids(_bracketed(value) or ([value] if len(value.split()) == 1 else []))


def _ids(raws: list[str]) -> list[str]:
    return [found for raw in raws if (found := id_of(raw)) is not None]


def _bracketed(text: str) -> list[str]:
    found: list[str] = []
    start = text.find("<")
    while start >= 0 and (end := text.find(">", start)) > 0:
        found.append(text[start : end + 1])
        start = text.find("<", end)
    return found


def parents_of(
    own: MessageId, *, answered: list[str], references: list[str]
) -> tuple[MessageId, ...]:
    """The ids that a mail answers, nearest first, each once, never itself; the nearest hundred."""
    if not answered and not references:
        return ()
    nearest_first = dict.fromkeys([*answered, *references[::-1]])
    nearest_first.pop(own, None)
    return tuple(MessageId(each) for each in islice(nearest_first, PARENT_LIMIT))


def thread_key_of(
    thread_id: str | None, own: MessageId, *, answered: list[str], references: list[str]
) -> ThreadKey:
    """The provider's thread, else the mail at the root of what this one refers to, else itself.

    A root is set apart by a prefix, so that a stranger's References cannot name a provider's
    thread.
    """
    if thread_id is not None:
        return ThreadKey(thread_id)
    return ThreadKey(f"root:{next(iter((*references, *answered)), own)}")


def headers_of(value: object) -> Headers | None:
    """The header fields that are of use here, by lower-case name; None where headers are unknown.

    From a map, or a list of pairs. A field that came several times keeps all its values.
    """
    if isinstance(value, dict):
        pairs: Iterable[tuple[object, object]] = value.items()
    elif isinstance(value, list):
        pairs = map(_pair, value)
    else:
        return None
    fields: Headers = {}
    for name, held in pairs:
        if isinstance(name, str) and (lower := name.strip().lower()) in _USEFUL:
            fields[lower] = fields.get(lower, ()) + _values(held)
    return fields


def _pair(item: object) -> tuple[object, object]:
    if isinstance(item, dict):
        return item.get("name"), item.get("value")
    if isinstance(item, list) and len(item) == 2:  # noqa: PLR2004  # a name and a value
        return item[0], item[1]
    return None, None


def _values(held: object) -> tuple[str, ...]:
    """A field that is there keeps at least one value: presence alone is a signal."""
    if isinstance(held, str):
        return (held,)
    if isinstance(held, list):
        return tuple(each for each in held if isinstance(each, str)) or ("",)
    return ("",)


def signals_of(headers: Headers | None) -> Headers | None:
    """The fields that rules look at. An empty map is an answer; None is not."""
    if headers is None:
        return None
    return {name: values for name, values in headers.items() if name not in _THREADING}


def threading_of(
    in_reply_to: object, references: object, headers: Headers | None
) -> tuple[list[str], list[str]]:
    """The ids answered and the ids referred to: the payload's fields, else the mail's own."""
    answered, referred = answered_in(in_reply_to), ids_in(references)
    if headers and not answered and "in-reply-to" in headers:
        answered = answered_in(list(headers["in-reply-to"]))
    if headers and not referred and "references" in headers:
        referred = ids_in(" ".join(headers["references"]))
    return answered, referred


def whole_of(value: object) -> int | None:
    """The value where it is a whole number that any reader can hold; None for anything else."""
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if abs(value) < 1 << 63 else None


def content_hash_of(*content: str | None) -> str:
    """Hex SHA-256 of what a reader of the mail sees. A missing part counts as an empty one."""
    # A msgpack array carries each part's length, so two contents cannot run into each other.
    return sha256(_PACK([each or "" for each in content])).hexdigest()
