from typing import Any

import pytest

from processors.core.bodies import object_of
from processors.core.normalise import (
    PARENT_LIMIT,
    addresses_of,
    answered_in,
    content_hash_of,
    headers_of,
    id_of,
    ids_in,
    parents_of,
    signals_of,
    text_of,
    thread_key_of,
    threading_of,
    whole_of,
)
from schemas.errors import Refused
from schemas.keys import MessageId

OWN = MessageId("own@x")

ADDRESSES: dict[str, tuple[Any, tuple[str, ...]]] = {
    "text": ("Jane <jane@x.example>", ("Jane <jane@x.example>",)),
    "text that is no address": ("undisclosed", ("undisclosed",)),
    "null path": ("<>", ("<>",)),
    "list": (["a@x.example", "b@x.example"], ("a@x.example", "b@x.example")),
    "object": ({"name": "Jane", "email": "j@x.example"}, ('"Jane" <j@x.example>',)),
    "object with an address": ({"address": "j@x.example"}, ("j@x.example",)),
    "object with a blank name": ({"name": " ", "email": "j@x.example"}, ("j@x.example",)),
    "object with another name": ({"name": 5, "email": "j@x.example"}, ("j@x.example",)),
    "list of objects": ([{"email": "j@x.example"}, "b@x.example"], ("j@x.example", "b@x.example")),
    "a name with an address in it": (
        {"name": 'Eve" <v@x.example>, \\', "email": "eve@x.example"},
        ('"Eve\\" <v@x.example>, \\\\" <eve@x.example>',),
    ),
    "nothing": (None, ()),
    "empty": ("", ()),
    "blank": ("  ", ()),
    "empty list": ([], ()),
    "object without an address": ({"name": "Jane"}, ()),
    "object with a blank address": ({"email": ""}, ()),
    "number": (5, ()),
    "list of nothings": ([None, 5, "", ["a@x.example"], {}], ()),
}
REFERENCES: dict[str, tuple[Any, list[str]]] = {
    "one": ("<a@x>", ["a@x"]),
    "spaces": ("<a@x> <b@x>\t<c@x>", ["a@x", "b@x", "c@x"]),
    "no white space": ("<a@x><b@x><c@x>", ["a@x", "b@x", "c@x"]),
    "commas": ("<a@x>,<b@x>,\r\n <c@x>", ["a@x", "b@x", "c@x"]),
    "folded with a comment": ("<a@x>\r\n\t<b@x> (was: x) <c@x>", ["a@x", "b@x", "c@x"]),
    "blanks inside brackets": ("< a@x > <b c@x>", ["a@x", "b c@x"]),
    "bare": ("a@x b@x,c@x", ["a@x", "b@x", "c@x"]),
    "empty brackets": ("<> <a@x> < >", ["a@x"]),
    "only empty brackets": (" < > ", []),
    "cut off": ("<a@x> <b@", ["a@x"]),
    "list": (["<a@x>", "b@x"], ["a@x", "b@x"]),
    "list with several in one": (["<a@x><b@x>", None, 7, ""], ["a@x", "b@x"]),
    "too long": (f"<{'a' * 2_049}> <b@x>", ["b@x"]),
    "empty": ("", []),
    "blank": (" \r\n ", []),
    "nothing": (None, []),
    "object": ({"id": "<a@x>"}, []),
}
ANSWERED: dict[str, tuple[Any, list[str]]] = {
    "brackets": ("<a@x>", ["a@x"]),
    "bare": (" a@x\n", ["a@x"]),
    "prose around": ('Your message of "Mon, 5 Jan" <a@x>', ["a@x"]),
    "several": ("<a@x> <b@x>", ["a@x", "b@x"]),
    "bare prose": ("Your message of Monday", []),
    "empty brackets": ("<>", []),
    "list": (["<a@x>"], ["a@x"]),
    "nothing": (None, []),
    "number": (5, []),
}
HEADERS: dict[str, tuple[Any, dict[str, tuple[str, ...]] | None]] = {
    "map": ({"Auto-Submitted": "no"}, {"auto-submitted": ("no",)}),
    "letter case and space": ({" RETURN-path ": " <> "}, {"return-path": (" <> ",)}),
    "several values": (
        {"Precedence": ["first-class", "bulk"]},
        {"precedence": ("first-class", "bulk")},
    ),
    "names that differ in case": (
        {"Auto-submitted": "no", "Auto-Submitted": "auto-replied"},
        {"auto-submitted": ("no", "auto-replied")},
    ),
    "list of objects": (
        [{"name": "List-Id", "value": "<l.x>"}, {"name": "list-id", "value": "<m.x>"}],
        {"list-id": ("<l.x>", "<m.x>")},
    ),
    "list of pairs": ([["X-Loop", "a@x"]], {"x-loop": ("a@x",)}),
    "what no rule looks at": ({"Subject": "Hi", "X-Mailer": "m"}, {}),
    "there without a value": (
        {"List-Id": None, "X-Loop": [], "X-Autoreply": [5]},
        {"list-id": ("",), "x-loop": ("",), "x-autoreply": ("",)},
    ),
    "names and pairs of other shapes": ([5, None, ["X-Loop"], {"value": "x"}, {"name": 5}], {}),
    "empty map": ({}, {}),
    "empty list": ([], {}),
    "nothing": (None, None),
    "text": ("Auto-Submitted: no", None),
    "number": (5, None),
}


@pytest.mark.parametrize(("given", "expected"), ADDRESSES.values(), ids=ADDRESSES.keys())
def test_addresses_come_in_every_shape_that_is_documented(
    given: object, expected: tuple[str, ...]
) -> None:
    """One page of the provider shows text, another objects; code for one failed on the other."""
    assert addresses_of(given) == expected


@pytest.mark.parametrize(("given", "expected"), REFERENCES.values(), ids=REFERENCES.keys())
def test_references_are_found_however_they_are_separated(
    given: object, expected: list[str]
) -> None:
    """Read as one giant id, they would split the thread."""
    assert ids_in(given) == expected


@pytest.mark.parametrize(("given", "expected"), ANSWERED.values(), ids=ANSWERED.keys())
def test_what_a_mail_answers_is_an_id_and_never_prose(given: object, expected: list[str]) -> None:
    """Prose taken for an id would join the threads of strangers."""
    assert answered_in(given) == expected


@pytest.mark.parametrize(("given", "expected"), HEADERS.values(), ids=HEADERS.keys())
def test_headers_keep_every_value_of_the_fields_that_count(
    given: object, expected: dict[str, tuple[str, ...]] | None
) -> None:
    """A field that came twice must not hide the value that forbids an answer."""
    assert headers_of(given) == expected


def test_threading_fields_of_the_mail_stand_in_for_missing_ones() -> None:
    """A provider that lifts nothing still sends the header fields."""
    headers = headers_of({"In-Reply-To": "<b@x>", "References": ["<a@x>", "<b@x>"]})

    assert threading_of(None, None, headers) == (["b@x"], ["a@x", "b@x"])


def test_the_payloads_own_fields_come_first() -> None:
    """The provider parsed the mail; its fields are what its contract speaks of."""
    headers = headers_of({"In-Reply-To": "<x@x>", "References": "<y@x>"})

    assert threading_of("<b@x>", ["<a@x>"], headers) == (["b@x"], ["a@x"])


@pytest.mark.parametrize("headers", [None, {}])
def test_a_mail_may_answer_nothing(headers: dict[str, tuple[str, ...]] | None) -> None:
    """Most threads begin that way."""
    assert threading_of(None, None, headers) == ([], [])


def test_signals_leave_threading_out_and_keep_unknown_apart_from_empty() -> None:
    """No header fields is an answer; not knowing them is none."""
    known = headers_of({"References": "<a@x>", "List-Id": "<l>"})

    assert (signals_of(known), signals_of({}), signals_of(None)) == (
        {"list-id": ("<l>",)},
        {},
        None,
    )


def test_parents_stand_nearest_first_and_once() -> None:
    """REORDER asks for the nearest known one."""
    found = parents_of(OWN, answered=["c@x"], references=["a@x", "b@x", "c@x", "own@x"])

    assert found == ("c@x", "b@x", "a@x")


def test_parents_are_limited() -> None:
    """Thousands of made-up references must not become thousands of look-ups."""
    references = [f"r{number}@x" for number in range(1_000)]

    found = parents_of(OWN, answered=[], references=references)

    assert (len(found), found[0]) == (PARENT_LIMIT, "r999@x")


@pytest.mark.parametrize(
    ("thread_id", "answered", "references", "expected"),
    [
        ("thd_1", ["b@x"], ["a@x"], "thd_1"),
        (None, ["b@x"], ["a@x", "b@x"], "root:a@x"),
        (None, ["b@x"], [], "root:b@x"),
        (None, [], [], "root:own@x"),
    ],
    ids=["the provider's thread", "the oldest reference", "what it answers", "itself"],
)
def test_a_mail_belongs_to_the_thread_of_its_root(
    thread_id: str | None, answered: list[str], *, references: list[str], expected: str
) -> None:
    """Without a thread of the provider's, all mails that grew from one share its id."""
    found = thread_key_of(thread_id, OWN, answered=answered, references=references)

    assert found == expected


def test_references_cannot_name_a_providers_thread() -> None:
    """Or a stranger would write himself into another customer's thread."""
    forged = thread_key_of(None, OWN, answered=[], references=["thd_1"])

    assert forged != thread_key_of("thd_1", OWN, answered=[], references=[])


@pytest.mark.parametrize("value", [None, 5, ["<a@x>"], "", " <> ", "x" * 2_049, "é" * 1_025])
def test_what_cannot_name_anything_is_no_id(value: object) -> None:
    """Blank ids would merge strangers; endless ones would fill keys."""
    assert id_of(value) is None


@pytest.mark.parametrize("value", ["x" * 2_048, "é" * 1_024, "\ud83d"])
def test_any_other_text_is_an_id(value: str) -> None:
    """Ids are opaque: length is all that is asked."""
    assert id_of(f"<{value}>") == value


def test_only_text_is_text_and_only_whole_numbers_are_whole() -> None:
    """A field of another shape is missing, not an error."""
    assert [text_of(each) for each in ("", "a", 5, None, ["a"])] == ["", "a", None, None, None]
    assert [whole_of(each) for each in (0, -3, True, 2.0, "4", None, 1 << 63)] == [
        *(0, -3),
        *(None, None, None, None, None),
    ]


def test_content_hash_tells_contents_apart_part_by_part() -> None:
    """A mail that was edited and sent again under its old id must be noticed."""
    hashes = {
        content_hash_of(*each)
        for each in (("a", "bc", None), ("ab", "c", None), ("a", None, "bc"), ("A", "bc", None))
    }

    assert len(hashes) == 4
    assert content_hash_of("a", None) == content_hash_of("a", "")


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"\xff\xfe\0\1", b"[]", b"5", b'{"a":NaN}', b"{} x", b"[" * 100_000],
    ids=["empty", "cut", "no utf-8", "list", "number", "nan", "two values", "deep"],
)
def test_a_body_that_is_no_object_is_refused(body: bytes) -> None:
    """It becomes a dead letter, and the partition moves on."""
    with pytest.raises(Refused):
        object_of(body)


def test_a_body_is_forgiven_what_the_door_forgives() -> None:
    """An event that was answered with 2xx must not be lost behind the door."""
    assert object_of(b'\xef\xbb\xbf{"a":"\\ud83d","b":1E400}') == {"a": "\ufffd", "b": float("inf")}
