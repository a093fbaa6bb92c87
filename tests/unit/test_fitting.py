"""What of a long mail goes on."""

import pytest
from msgspec.structs import replace

from processors.core.fitting import cut, fitted
from schemas.codec import to_json
from schemas.events import THREAD_EVENT
from schemas.topics import INLINE_LIMIT_BYTES
from tests.reordering import a_mail

LONG = INLINE_LIMIT_BYTES * 2


def test_event_that_fits_goes_on_as_it_is() -> None:
    """Nearly every mail."""
    event = a_mail("m", text="Hello", html="<p>Hello</p>")

    assert fitted(event) == to_json(event)


@pytest.mark.parametrize("character", ["a", "é", "😀", '"', "\x01", "\u2028"])
def test_long_text_is_cut_to_the_limit_and_marked(character: str) -> None:
    """A writer sees the beginning, and that there is more."""
    event = a_mail("m", text=character * LONG, html="<p>Hello</p>")

    found = fitted(event)

    left = THREAD_EVENT.decode(found)
    kept = left.text or ""
    assert INLINE_LIMIT_BYTES - 100 < len(found) <= INLINE_LIMIT_BYTES
    assert kept == character * len(kept)
    assert left == replace(event, text=kept, html=None, is_truncated=True)


def test_long_html_goes_before_short_text() -> None:
    """What is cut out of the middle of HTML is hardly readable, and the text says the same."""
    event = a_mail("m", text="Hello", html="<p>" * LONG)

    assert THREAD_EVENT.decode(fitted(event)) == replace(event, html=None, is_truncated=True)


def test_long_html_alone_is_cut() -> None:
    """A mail without a text is still a mail."""
    found = fitted(a_mail("m", text=None, html="x" * LONG))

    left = THREAD_EVENT.decode(found)
    assert (left.text, left.is_truncated) == (None, True)
    assert INLINE_LIMIT_BYTES - 100 < len(found) <= INLINE_LIMIT_BYTES


@pytest.mark.parametrize("most_bytes", [-1, 0, 2, 3, 8, 9])
def test_cut_never_takes_more_than_it_may(most_bytes: int) -> None:
    """Nor splits a character, which would be no text."""
    kept = cut('\x01"é😀', most_bytes)

    assert '\x01"é😀'.startswith(kept)
    assert len(to_json(kept)) <= max(most_bytes, len('""'))
