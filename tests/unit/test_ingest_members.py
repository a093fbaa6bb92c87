import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.answers import Reason, TurnedAway
from ingest.members import MAX_LEVELS, members, string, top_members
from tests.doors import UNHURRIED


def reason_of(text: bytes) -> str:
    """Why the text is refused, or `fine`."""
    try:
        top_members(text)
    except TurnedAway as error:
        return str(error.reason)
    return "fine"


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"null",
        b"[]",
        b'"x"',
        b"123",
        b'{"a":1}{}',
        b'{"a":1} x',
        b'{"a":NaN}',
        b'{"a":[Infinity]}',
        b'{"a":01}',
        b'{"a":1.}',
        b'{"a":.5}',
        b'{"a":+1}',
        b'{"a":1,}',
        b'{"a":[1,]}',
        b"{'a':1}",
        b"{a:1}",
        b'{"a":"\n"}',
        b'{"a":"\\q"}',
        b'{"a":"\\u12"}',
        b'{"a":tru}',
        b'{"a":"b"',
        b'{"a" "b"}',
        b"/**/{}",
        b'\x0c{"a":1}',
        b'{"a":"\x00"}',
    ],
)
def test_anything_but_one_strict_object_is_refused(text: bytes) -> None:
    """Two parsers that forgive different things read two different events."""
    assert reason_of(text) == Reason.NOT_JSON


@pytest.mark.parametrize(
    "text",
    [
        b"{}",
        b' {"a" :\t1}\r\n',
        b'{"a":"\\u0000"}',
        b'{"a":1E400,"b":9007199254740993,"c":-0.0e-5}',
        b'{"a":"\\\\","b":"\\""}',
        b'{"a":"{[{[","b":"]"}',
        '{"é":"\U0001f600\u2028"}'.encode(),
        b'{"":{"":[]}}',
    ],
)
def test_strict_objects_pass_however_odd(text: bytes) -> None:
    """A genuine event is not refused for its taste in numbers, names or white space."""
    assert reason_of(text) == "fine"


@pytest.mark.parametrize("opening", [b"[", b'{"x":', b'{"[":['])
def test_levels_are_counted_whatever_they_are_made_of(opening: bytes) -> None:
    """Nesting that exhausts a parser's stack would end the process for everybody."""
    closing = {b"[": b"]", b'{"x":': b"}", b'{"[":[': b"]}"}[opening]
    levels = 2 if opening == b'{"[":[' else 1
    most = (MAX_LEVELS - 1) // levels

    def nested(times: int) -> bytes:
        return b'{"a":' + opening * times + b"1" + closing * times + b"}"

    assert reason_of(nested(most)) == "fine"
    assert reason_of(nested(most + 1)) == Reason.TOO_DEEP
    assert reason_of(nested(200_000)) == Reason.TOO_DEEP


def test_brackets_inside_strings_are_no_levels() -> None:
    """A style sheet in a mail is full of them."""
    text = json.dumps({"html": '"{[\\' * 500, "x": "{" * 500}).encode()

    assert reason_of(text) == "fine"


@pytest.mark.parametrize(
    "text",
    [
        b'{"a":1,"a":2}',
        b'{"a":1,"a":1}',
        b'{"a":1,"\\u0061":2}',
        b'{ "a" : 1 , "b" : 2 , "a" : 3 }',
        b'{"a":{"c":1},"b":[{"c":1}],"a":{}}',
        '{"é":1,"é":2}'.encode(),
        b'{"":1,"":2}',
        b'{"a\\"":1,"b":":","a\\"":2}',
    ],
)
def test_member_that_stands_twice_is_refused(text: bytes) -> None:
    """An event must have one identity, and parsers disagree about which of two counts."""
    assert reason_of(text) == Reason.TWICE


def test_same_name_in_two_objects_is_not_twice() -> None:
    """A message and its thread both have an inbox."""
    assert reason_of(b'{"a":{"a":1},"b":[{"a":1},{"a":2,"a":3}]}') == "fine"


JSON: st.SearchStrategy[object] = st.recursive(
    st.text() | st.integers() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=4,
)


@UNHURRIED
@given(
    st.dictionaries(st.text(), JSON, max_size=5),
    st.sampled_from([None, 2]),
    st.booleans(),
)
def test_members_are_those_of_any_json_object(
    value: dict[str, object],
    indent: int | None,
    is_ascii: bool,  # noqa: FBT001  # drawn
) -> None:
    """However an object is written, none of its members is missed, refused or changed."""
    text = json.dumps(value, indent=indent, ensure_ascii=is_ascii)

    found = members(text.encode())

    assert {name: json.loads(bytes(memoryview(raw))) for name, raw in found.items()} == value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b'{"a":"b"}', "b"),
        (b'{"a":1}', None),
        (b'{"a":null}', None),
        (b'{"a":["b"]}', None),
        (b'{"b":"a"}', None),
    ],
)
def test_string_is_the_string_or_nothing(text: bytes, expected: str | None) -> None:
    """Ids are strings; a number that looks like one is another id in another language."""
    assert string(members(text), "a") == expected
