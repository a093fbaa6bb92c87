"""What a writer gives back, and what of it is refused.

Owns: Draft, needs_approval, and the size of each.
May not: know where a draft goes.
"""

from typing import Any, Final

import msgspec

from schemas.codec import to_json
from schemas.errors import Refused, TooLarge
from schemas.topics import THREAD_CONTEXT_LIMIT_BYTES

# One line on the screen of the person who decides.
MOST_SUMMARY_CHARS: Final = 140
MOST_EVIDENCE_BYTES: Final = 16 * 1024


class Approval(msgspec.Struct, frozen=True):
    """Why a person must see a draft before it is sent. Made by needs_approval."""

    summary: str
    evidence: msgspec.Raw | None = None


class Draft(msgspec.Struct, frozen=True):
    """A reply's text, and what goes with it.

    `html` is sent beside the text, never instead of it. With an `approval` the draft waits until
    a person has approved it.
    """

    text: str
    html: str | None = None
    approval: Approval | None = None


def needs_approval(summary: str, evidence: Any = None) -> Approval:
    """Hold the draft for a person, who sees one line of summary and the evidence as JSON.

    Raises Refused for an empty or long summary, and for evidence that is not JSON or too long.
    """
    if not summary.strip() or len(summary) > MOST_SUMMARY_CHARS:
        raise Refused(f"a summary has 1 to {MOST_SUMMARY_CHARS} characters")
    if evidence is None:
        return Approval(summary)
    try:
        raw = to_json(evidence)
    except (TypeError, ValueError, msgspec.MsgspecError, RecursionError) as error:
        raise Refused("evidence cannot be written as JSON") from error
    if len(raw) > MOST_EVIDENCE_BYTES:
        raise TooLarge(f"evidence has {len(raw)} bytes, the limit is {MOST_EVIDENCE_BYTES}")
    return Approval(summary, msgspec.Raw(raw))


def draft_of(written: object) -> Draft:
    """What a writer gave back, as a draft that may go on.

    Raises Refused for anything but a text or a Draft, for an empty text, and for one above
    THREAD_CONTEXT_LIMIT_BYTES.
    """
    draft = Draft(written) if isinstance(written, str) else written
    if not isinstance(draft, Draft):
        raise Refused(f"the writer gave back {type(written).__name__}, not a text or a Draft")
    if not isinstance(draft.approval, Approval | None):
        raise Refused("the draft's approval was not made by needs_approval")
    _check_size("text", draft.text)
    if not draft.text.strip():
        raise Refused("the writer gave back an empty text")
    if draft.html is not None:
        _check_size("html", draft.html)
    return draft


def _check_size(name: str, words: object) -> None:
    if not isinstance(words, str):
        raise Refused(f"the draft's {name} is {type(words).__name__}, not a text")
    try:
        size = len(words.encode())
    except UnicodeEncodeError as error:
        raise Refused(f"the draft's {name} is not valid Unicode") from error
    if size > THREAD_CONTEXT_LIMIT_BYTES:
        raise TooLarge(f"{name} has {size} bytes, the limit is {THREAD_CONTEXT_LIMIT_BYTES}")
