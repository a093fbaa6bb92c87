"""A text without its long strings names what the whole text names, however it is cut."""

import json
from itertools import pairwise
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from ingest.answers import TurnedAway
from ingest.keys import Named, Speaker, named
from ingest.rules import RULES
from ingest.skeleton import LONG_STRING_BYTES, Skeleton
from schemas.addresses import Inboxes
from schemas.keys import SourceName
from tests.doors import UNHURRIED
from tests.payloads import INBOX, a_message, an_event
from tests.properties.test_door import odd_members

LONG = 'a long text, \\ " \u2028 and é; ' * (LONG_STRING_BYTES // 25)

SPEAKER = Speaker(
    source=SourceName("agentmail"), rules=RULES["agentmail"], inboxes=Inboxes([INBOX])
)

cuts = st.lists(st.integers(min_value=0), max_size=5)
texts = st.text(st.characters(), max_size=20) | st.just(LONG)
# Not JSON, by a little: the parser of small bodies and the skeleton must see the same fault.
PIECES = rb"""" \ { } [ ] : , 1 \" \u \ud83d \u12 "event_id" "event_type" null"""
pieces = st.lists(
    st.sampled_from([*PIECES.split(), b" ", b"\n", b"\x00", b"\xff", b"\xc3\xa9"]), max_size=12
).map(b"".join)


def outcome(body: bytes) -> Named | str:
    """What a body names, or the reason why it names nothing."""
    try:
        return named(body, SPEAKER)
    except TurnedAway as error:
        return str(error.reason)


def skeleton_outcome(body: bytes, at: list[int]) -> Named | str:
    """The same for its skeleton, from parts that are cut there."""
    places = sorted({0, len(body), *(each % (len(body) + 1) for each in at)})
    skeleton = Skeleton()
    try:
        for start, end in pairwise(places):
            skeleton.add(body[start:end])
        left = skeleton.whole()
    except TurnedAway as error:
        return str(error.reason)
    return outcome(left)


@UNHURRIED
@given(members=odd_members, text=texts, at=cuts, is_ascii=st.booleans())
def test_skeleton_of_an_event_names_the_same(
    members: dict[str, Any], text: str, at: list[int], *, is_ascii: bool
) -> None:
    """Whether a body is large or small must not change whose event it is."""
    event = json.loads(an_event(**{"message": a_message(text=text), **members}))
    body = json.dumps(event, ensure_ascii=is_ascii).encode("utf-8", "replace")

    assert skeleton_outcome(body, at) == outcome(body)


@UNHURRIED
@given(pieces, cuts)
@example(b'{"a":"\\u12"}', [8, 9, 10])
@example(b'"\\', [1])
def test_skeleton_of_what_is_no_event_is_none_either(body: bytes, at: list[int]) -> None:
    """Nor may a body that is refused when small be let in when large."""
    whole, left = outcome(body), skeleton_outcome(body, at)

    assert isinstance(left, Named) == isinstance(whole, Named)


@UNHURRIED
@given(st.text(max_size=50), cuts)
def test_long_strings_alone_are_left_out(text: str, at: list[int]) -> None:
    """What is kept would else be as large as the body."""
    body = json.dumps({"short": text, "long": LONG, "list": [LONG, 1]}).encode()
    skeleton = Skeleton()

    for start, end in pairwise(sorted({0, len(body), *(each % len(body) for each in at)})):
        skeleton.add(body[start:end])

    assert json.loads(skeleton.whole()) == {"short": text, "long": "", "list": ["", 1]}
