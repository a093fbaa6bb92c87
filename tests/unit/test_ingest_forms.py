from urllib.parse import urlencode

import pytest

from ingest.answers import Reason, TurnedAway
from ingest.forms import JSON, MAX_FIELDS, MULTIPART, URLENCODED, Kind, fields_in, kind_of
from tests.senders import multipart

ALL = ("application/json", MULTIPART, URLENCODED)
PARTS = Kind(MULTIPART, b"xYz")
FORM = Kind(URLENCODED)
WANTED = frozenset({"a", "b"})


def read(body: bytes, kind: Kind) -> dict[str, bytes] | str:
    """The wanted fields, or the reason why there are none."""
    try:
        return fields_in(body, kind, WANTED)
    except TurnedAway as error:
        return str(error.reason)


def kind(content_type: bytes | None, takes: tuple[str, ...] = ALL) -> Kind | str:
    """What the header makes of a body, or the reason why not."""
    try:
        return kind_of({} if content_type is None else {b"content-type": content_type}, takes)
    except TurnedAway as error:
        return str(error.reason)


@pytest.mark.parametrize(
    ("content_type", "expected"),
    [
        (None, JSON),
        (b"", JSON),
        (b"application/json; charset=utf-8", JSON),
        (b"Application/JSON", JSON),
        (b"application/cloudevents+json", JSON),
        (b"application/x-www-form-urlencoded", FORM),
        (b"multipart/form-data; boundary=xYz", PARTS),
        (b'multipart/form-data; charset=utf-8; boundary="xYz"', PARTS),
    ],
)
def test_kind_is_what_the_header_says(content_type: bytes | None, expected: Kind) -> None:
    """The same words in the spellings that clients use."""
    assert kind(content_type) == expected


@pytest.mark.parametrize(
    "content_type",
    [
        b"text/plain",
        b"application/xml",
        b"json",
        b"\xff",
        b"multipart/form-data",
        b"multipart/form-data; boundary=",
        b"multipart/form-data; boundary=" + b"x" * 71,
        b'multipart/form-data; boundary="a\r\nb"',
        b"multipart/mixed; boundary=x",
    ],
)
def test_kind_that_the_source_does_not_take_is_refused(content_type: bytes) -> None:
    """A boundary that cannot be written again would make the record unreadable."""
    assert kind(content_type) == Reason.WRONG_TYPE


def test_missing_type_is_no_form() -> None:
    """A source that takes forms only takes nothing that says nothing."""
    assert kind(None, (MULTIPART,)) == Reason.WRONG_TYPE


def test_fields_of_both_forms_are_their_bytes() -> None:
    """A plus is a space in one of them, and bytes need not be text."""
    fields = {"a": "x y+z\r\n--xY", "b": "é", "c": "skipped"}
    expected = {"a": b"x y+z\r\n--xY", "b": "é".encode()}

    assert read(urlencode(fields).encode(), FORM) == expected
    assert read(multipart(fields, file=bytes(range(256)) * 99), PARTS) == expected
    assert read(b"a=%ff%00&b", FORM) == {"a": b"\xff\x00", "b": b""}


@pytest.mark.parametrize(
    ("body", "form"),
    [
        (b"a=1&a=2", FORM),
        (multipart({"a": "1"})[:-4] + b"\r\n" + multipart({"a": "2"}), PARTS),
    ],
    ids=["urlencoded", "multipart"],
)
def test_wanted_field_twice_is_refused(body: bytes, form: Kind) -> None:
    """One reader would go by the first and another by the last."""
    assert read(body.replace(b"--xYz\r\n--xYz", b"--xYz"), form) == Reason.TWICE


def test_other_fields_may_repeat() -> None:
    """A mail's headers stand among them, and those do repeat."""
    assert read(b"Received=1&Received=2&a=3", FORM) == {"a": b"3"}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"a=1",
        b"--xYz",
        b"--other\r\n\r\n--other--",
        multipart({"a": "1"})[:-6],
        multipart({"a": "1"}).replace(b"\r\n", b"\n"),
        b"--xYz\r\nContent-Disposition\r\n\r\n1\r\n--xYz--\r\n",
        b"--xYz\r\n" + b"X: " + b"y" * 99_999 + b"\r\n\r\n1\r\n--xYz--\r\n",
        b"--xYz\r\n" + b"X: y\r\n" * 999 + b"\r\n1\r\n--xYz--\r\n",
    ],
)
def test_parts_that_are_cut_or_broken_are_no_form(body: bytes) -> None:
    """Half a mail is not a mail; the sender's next try brings the whole one."""
    assert read(body, PARTS) == Reason.NOT_FORM


@pytest.mark.parametrize("end", [b"--xYz--", multipart({})[:-2]])
def test_form_may_end_without_its_last_line_break(end: bytes) -> None:
    """RFC 2046 5.1.1: the break belongs to what follows, and nothing does."""
    assert read(multipart({"a": "1"})[:-9] + end, PARTS) == {"a": b"1"}


@pytest.mark.parametrize("kind", [FORM, PARTS], ids=["urlencoded", "multipart"])
def test_number_of_fields_is_bounded(kind: Kind) -> None:
    """Small fields cost more than their bytes."""
    many = {f"f{number}": "" for number in range(MAX_FIELDS + 1)}
    few = dict(list(many.items())[1:])
    write = multipart if kind is PARTS else lambda fields: urlencode(fields).encode()

    assert (read(write(few), kind), read(write(many), kind)) == ({}, Reason.NOT_FORM)


def test_content_type_of_a_record_reads_its_body() -> None:
    """The request's header is not copied: it is written anew from what was understood."""
    assert [each.content_type for each in (JSON, FORM, PARTS)] == [
        b"application/json",
        b"application/x-www-form-urlencoded",
        b'multipart/form-data; boundary="xYz"',
    ]
