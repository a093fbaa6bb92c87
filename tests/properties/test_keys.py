import re

from hypothesis import given
from hypothesis import strategies as st

from schemas.errors import DecodeError
from schemas.keys import (
    EventId,
    EventKey,
    InboxId,
    MessageId,
    SourceName,
    canonical_id,
    conflict_key,
    effect_key,
    event_key,
    fetched_key,
    framed,
    reply_key,
)

# Half surrogate pairs included: JSON lets them in.
texts = st.text(st.characters(), max_size=20)
pairs = st.tuples(texts.map(InboxId), texts.map(MessageId))
SAFE = re.compile(r"[A-Za-z0-9._~-]{1,255}")


@given(st.lists(texts), st.lists(texts))
def test_framing_is_one_to_one(left: list[str], right: list[str]) -> None:
    """Two different tuples never give the same bytes, or two things would share a key."""
    assert (framed(*left) == framed(*right)) == (left == right)


@given(pairs, pairs)
def test_reply_keys_do_not_meet(
    left: tuple[InboxId, MessageId], right: tuple[InboxId, MessageId]
) -> None:
    """A shared key would swallow one of two replies."""
    assert (reply_key(*left) == reply_key(*right)) == (left == right)


@given(pairs, texts)
def test_keys_for_providers_stay_in_their_alphabet(
    pair: tuple[InboxId, MessageId], name: str
) -> None:
    """AgentMail answers 400 to any other character, and to more than 256 of them."""
    assert SAFE.fullmatch(reply_key(*pair))
    assert SAFE.fullmatch(effect_key(*pair, "refund"))
    assert effect_key(*pair, name) != reply_key(*pair)


@given(st.tuples(texts, texts), st.tuples(texts, texts))
def test_event_keys_do_not_meet(left: tuple[str, str], right: tuple[str, str]) -> None:
    """A source holds no slash, so the first one ends it."""
    named = [
        (SourceName(source.replace("/", "")), EventId(event)) for source, event in (left, right)
    ]
    try:
        keys = [event_key(*each) for each in named]
    except DecodeError:
        return

    assert (keys[0] == keys[1]) == (named[0] == named[1])


@given(pairs, texts)
def test_keys_made_behind_the_door_meet_no_key_made_at_it(
    pair: tuple[InboxId, MessageId], event: str
) -> None:
    """No provider can send an event under the name of a fetched mail."""
    source = SourceName("support")

    assert fetched_key(source, *pair) != f"support/{event}"
    assert fetched_key(source, *pair).partition("/")[0] != source


@given(texts, pairs, pairs)
def test_conflict_keys_do_not_meet(
    event: str, left: tuple[InboxId, MessageId], right: tuple[InboxId, MessageId]
) -> None:
    """Two messages that came under one event id stay two."""
    key = EventKey(f"support/{event}")

    assert (conflict_key(key, *left) == conflict_key(key, *right)) == (left == right)


@given(texts.filter(lambda text: "\n" not in text))
def test_an_id_compares_whether_it_came_bare_or_in_brackets(raw: str) -> None:
    """One side kept the brackets, the other did not, and nothing matched."""
    found = canonical_id(raw)

    assert found is None or found == found.strip()
    assert canonical_id(f" <{found}> ") == found or found is None
