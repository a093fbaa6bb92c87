"""Plain text of a mail, also of one that has HTML only.

Owns: which of the two is taken, and how tags become line breaks.
May not: be relied on for safety: what comes out is still a stranger's text. It builds no tree,
because parsers take seconds for a mail of nothing but nested tags; each character is seen once.
"""

import re
from collections.abc import Iterator
from html import unescape
from string import ascii_lowercase, ascii_uppercase
from typing import Final

from schemas.topics import THREAD_CONTEXT_LIMIT_BYTES

# Tags that end a line where they are shown. Every other tag goes without a trace.
_BREAKS: Final = frozenset(
    [
        "p",
        "br",
        "div",
        "li",
        "ul",
        "ol",
        "tr",
        "table",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "blockquote",
        "pre",
        "hr",
        "section",
        "article",
    ]
)
# Elements whose content no reader sees.
_UNSEEN: Final = frozenset({"script", "style", "head", "title", "template"})
_NAME: Final = re.compile(r"/?([a-zA-Z][a-zA-Z0-9]*)")
# Not str.lower: it makes some letters two, and places would no longer agree.
_LOWER: Final = str.maketrans(ascii_uppercase, ascii_lowercase)
_SPACES: Final = re.compile(r"[ \t\r\n\f\v]+")


def plain_text(text: str | None, html: str | None) -> str:
    """The mail's own plain text where it has one, else its HTML without tags; may be empty."""
    if text is not None and text.strip():
        return text
    return "" if html is None else text_of_html(html)


def text_of_html(html: str) -> str:
    """What a reader of the HTML sees, line by line. A long one is cut before it is read."""
    shown = _SPACES.sub(" ", html[:THREAD_CONTEXT_LIMIT_BYTES])
    lines = (line.strip() for line in unescape("".join(_pieces(shown))).split("\n"))
    return "\n".join(line for line in lines if line)


def _pieces(html: str) -> Iterator[str]:
    lowered = html.translate(_LOWER)
    at = 0
    while (start := html.find("<", at)) >= 0:
        yield html[at:start]
        name = _NAME.match(html, start + 1)
        if name is None and not html.startswith(("<!", "<?"), start):
            yield "<"
            at = start + 1
            continue
        tag = "" if name is None else name[1].lower()
        if tag in _BREAKS:
            yield "\n"
        at = _after(lowered, start, tag)
        if at < 0:
            return
    yield html[at:]


def _after(lowered: str, start: int, tag: str) -> int:
    """Where reading goes on behind the tag at `start`; negative when it never ends."""
    if lowered.startswith("<!--", start):
        return _end(lowered, "-->", start + 4)
    if tag in _UNSEEN and lowered[start + 1] != "/":
        start = lowered.find(f"</{tag}", start)
        if start < 0:
            return start
    return _end(lowered, ">", start)


def _end(lowered: str, closing: str, start: int) -> int:
    found = lowered.find(closing, start)
    return found if found < 0 else found + len(closing)
