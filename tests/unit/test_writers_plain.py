import time

import pytest

from processors.writers.plain import plain_text, text_of_html
from schemas.topics import THREAD_CONTEXT_LIMIT_BYTES

SHOWN = {
    "paragraphs": ("<p>one</p><p>two</p>", "one\ntwo"),
    "a line break": ("one<br/>two<BR>three", "one\ntwo\nthree"),
    "inline tags": ("a <b>bold</b> <a href='https://example.net'>word</a>", "a bold word"),
    "entities": ("a &lt;b&gt; &amp; c&nbsp;d", "a <b> & c\xa0d"),
    "a script": ("a<script>if (1 < 2) alert('</p>')</script>b", "ab"),
    "a style in capitals": ("a<STYLE>p { color: red }</STYLE>b", "ab"),
    "the head": ("<html><head><title>t</title></head><body>b</body></html>", "b"),
    "a header, which is no head": ("<header>h</header>", "h"),
    "a comment": ("a<!-- <p>no</p> -->b", "ab"),
    "a conditional comment": ("a<!--[if mso]><p>no</p><![endif]-->b", "ab"),
    "a document type": ("<!doctype html>a", "a"),
    "a processing instruction": ("<?xml version='1.0'?>a", "a"),
    "a sign that is no tag": ("1 < 2 and 2 > 1", "1 < 2 and 2 > 1"),
    "a heart": ("I <3 you", "I <3 you"),
    "white space": ("  a\n\n   b\t c ", "a b c"),
    "a tag that never ends": ("a<b class='", "a"),
    "a script that never ends": ("a<script>b", "a"),
    "a comment that never ends": ("a<!-- b", "a"),
    "letters that lower case makes longer": ("İİİ<script>a</script>b", "İİİb"),
    "tags in entities": ("&lt;script&gt;a&lt;/script&gt;", "<script>a</script>"),
    "nothing": ("", ""),
}


@pytest.mark.parametrize(("html", "text"), SHOWN.values(), ids=SHOWN.keys())
def test_text_of_html_is_what_a_reader_sees(html: str, text: str) -> None:
    """A model that is given tags pays for them and answers about them."""
    assert text_of_html(html) == text


@pytest.mark.parametrize("text", [None, "", "  \n"], ids=["missing", "empty", "blank"])
def test_html_stands_in_for_a_missing_text(text: str | None) -> None:
    """Some programs send a blank plain part beside the real mail."""
    assert plain_text(text, "<p>hello</p>") == "hello"


def test_a_mail_without_text_and_html_has_no_text() -> None:
    """An image, say."""
    assert plain_text(None, None) == ""


HOSTILE = {
    "nested tags": "<div>",
    "open comments": "<!--",
    "open scripts": "<script>",
    "closed scripts": "<script></script>",
    "signs": "<",
    "entities": "&lt;",
    "attributes": "<a b=c ",
    "spaces": " \n",
}


@pytest.mark.parametrize("piece", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_html_takes_no_longer_than_its_length(piece: str) -> None:
    """One mail must not hold up the replies to all others."""
    html = piece * (2 * THREAD_CONTEXT_LIMIT_BYTES // len(piece))
    started = time.process_time()

    text_of_html(html)

    assert time.process_time() - started < 3


def test_long_html_is_cut_before_it_is_read() -> None:
    """What stands after the limit is not seen, whatever it is."""
    html = "a" * THREAD_CONTEXT_LIMIT_BYTES + "b"

    assert text_of_html(html) == "a" * THREAD_CONTEXT_LIMIT_BYTES
