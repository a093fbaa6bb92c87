"""An event that fits where events go: its words are cut where they are too long for a record.

Owns: how much of a mail's words goes on. All of them lie where the event's origin says.
May not: cut anything by which an event is named, ordered or judged.
"""

from typing import Final

from msgspec.structs import replace

from schemas.codec import to_json
from schemas.events import ThreadEvent
from schemas.topics import INLINE_LIMIT_BYTES

# A mark and two quotes.
_ROOM_BYTES: Final = 64


def fitted(event: ThreadEvent) -> bytes:
    """The event as JSON of at most the inline limit, if words are what makes it longer.

    A reader of plain text loses the HTML first; what is cut is marked as truncated.
    """
    content = to_json(event)
    if len(content) <= INLINE_LIMIT_BYTES or (event.text is None and event.html is None):
        return content
    bare = replace(event, text=None, html=None, is_truncated=True)
    room_bytes = INLINE_LIMIT_BYTES - len(to_json(bare)) - _ROOM_BYTES
    if event.text is None:
        return to_json(replace(bare, html=cut(event.html or "", room_bytes)))
    return to_json(replace(bare, text=cut(event.text, room_bytes)))


def cut(words: str, most_bytes: int) -> str:
    """The beginning that takes at most so many bytes as JSON. Never half of a character."""
    kept = words[: max(0, most_bytes)]
    while (over_bytes := len(to_json(kept)) - most_bytes) > 0 and kept:
        # No character takes more than six bytes (an escape), so this never goes below the fit.
        kept = kept[: -max(1, over_bytes // 6)]
    return kept
