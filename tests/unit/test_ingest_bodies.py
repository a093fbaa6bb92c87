import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.bodies import json_text
from tests.doors import UNHURRIED


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b'\xef\xbb\xbf{"a":1}', b'{"a":1}'),
        (b'{"a":"\\ud83d"}', b'{"a":"\\ufffd"}'),
        (b'{"a":"\\uDE00\\uD83Dx"}', b'{"a":"\\ufffd\\ufffdx"}'),
        (b'{"a":"\\ud83d\\ude00"}', b'{"a":"\\ud83d\\ude00"}'),
        (b'{"a":"\\ud83d\\ud83d\\ude00"}', b'{"a":"\\ufffd\\ud83d\\ude00"}'),
        (b'{"a":"\\\\ud83d"}', b'{"a":"\\\\ud83d"}'),
        (b'{"a":"\\\\\\ud83d"}', b'{"a":"\\\\\\ufffd"}'),
        (b'{"a":"\\ud83d\\n"}', b'{"a":"\\ufffd\\n"}'),
    ],
)
def test_only_a_mark_and_half_pairs_are_forgiven(body: bytes, text: bytes) -> None:
    """Whatever else is wrong with a body stays wrong, and whatever is right stays right."""
    assert json_text(body) == text


@UNHURRIED
@given(st.text(st.characters(), max_size=40))
def test_mended_text_is_what_a_reader_sees(text: str) -> None:
    """Each half becomes one replacement character; everything else is the same string."""
    mended = json.loads(json_text(json.dumps(text).encode()))

    assert mended == "".join("\ufffd" if "\ud800" <= each <= "\udfff" else each for each in text)
