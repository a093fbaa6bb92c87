import asyncio
from pathlib import Path

import pytest
from jinja2 import TemplateError

from processors.writers.drafts import draft_of
from processors.writers.loading import load_writer
from processors.writers.template import TemplateWriter, template_writer
from processors.writers.thread import thread_of
from schemas.errors import SettingsError
from schemas.settings import load_settings
from tests.writing import a_request, an_event, said

CANARY = "ZQ-canary-77"


def reply_of(source: str, **differences: object) -> str:
    """What a template says to a mail."""
    return asyncio.run(TemplateWriter(source)(thread_of(a_request(**differences))))


def test_the_built_in_reply_quotes_nothing() -> None:
    """What a stranger wrote must not leave again under our name."""
    event = an_event(text=CANARY, subject=CANARY, sender=CANARY)
    write = load_writer(load_settings())

    async def call() -> object:
        return await write(thread_of(a_request(event=event, log=(said(CANARY, after_s=-1),))))

    reply = draft_of(asyncio.run(call())).text
    assert CANARY not in reply
    assert reply.startswith("Hello,\n")


def test_a_template_sees_the_thread() -> None:
    """It is the whole of what a reply may depend on."""
    source = "{{ thread.message.subject }}: {% for m in thread.messages %}{{ m.text }};{% endfor %}"

    assert reply_of(source, log=(said("hi", after_s=-1),)) == "Opening hours: hi;When do you open?;"


def test_a_mail_that_holds_a_template_is_not_run() -> None:
    """A stranger's text is filled in, never read as a template."""
    event = an_event(text="{{ 7 * 7 }}{% raw %}")

    assert reply_of("{{ thread.message.text }}", event=event) == "{{ 7 * 7 }}{% raw %}"


def test_nothing_is_escaped_as_html() -> None:
    """The reply is plain text."""
    assert reply_of("{{ thread.message.text }}", event=an_event(text="a < b")) == "a < b"


@pytest.mark.parametrize(
    "source",
    [
        "{{ thread.nothing }}",
        "{{ customer }}",
        "{{ thread.message.sender.nothing.more }}",
        "{{ ''.__class__.__mro__ }}",
        "{{ thread.__init__.__globals__ }}",
        "{{ thread.effect_key.__func__.__globals__ }}",
        "{{ range(1000000000) | list }}",
        "{% include '/etc/passwd' %}",
    ],
)
def test_a_template_that_reaches_too_far_fails(source: str) -> None:
    """A wrong name must not leave a hole in a mail; a clever one must not see the process."""
    with pytest.raises((TemplateError, OverflowError, TypeError)):
        reply_of(source)


def test_a_template_is_read_from_its_file(tmp_path: Path) -> None:
    """An operator changes the words without touching code."""
    path = tmp_path / "reply.txt"
    path.write_text("Grüße an {{ thread.message.sender }}", encoding="utf-8")
    write = template_writer(str(path))

    assert asyncio.run(write(thread_of(a_request()))) == "Grüße an ann@example.net"


UNUSABLE = {
    "missing": (None, "ONEREPLY_WRITER_TEMPLATE: {path} cannot be read: No such file or directory"),
    "not UTF-8": (b"\xff", "ONEREPLY_WRITER_TEMPLATE: {path} cannot be read: it is not UTF-8"),
    "an open block": (
        b"{% oops %}",
        "ONEREPLY_WRITER_TEMPLATE: {path} is not a template: Encountered unknown tag 'oops'.",
    ),
}


@pytest.mark.parametrize(("content", "sentence"), UNUSABLE.values(), ids=UNUSABLE.keys())
def test_a_template_that_cannot_be_used_is_one_sentence(
    content: bytes | None, sentence: str, tmp_path: Path
) -> None:
    """It is found at the start, not with the first customer."""
    path = tmp_path / "reply.txt"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(SettingsError) as refused:
        template_writer(str(path))

    assert str(refused.value) == sentence.format(path=path)
