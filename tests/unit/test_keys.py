from hashlib import sha256

import pytest

from schemas.errors import DecodeError
from schemas.keys import (
    EventId,
    EventKey,
    InboxId,
    MessageId,
    SourceName,
    canonical_id,
    conflict_key,
    derived_message_id,
    effect_key,
    event_key,
    fetched_key,
    framed,
    reply_key,
)

SUPPORT = SourceName("support")
INBOX = InboxId("support@inbox.example")
FOLDED_IN = "m1@mail.\r\n customer.example"
ID_FORMS = {
    "brackets": ("<m1@x.example>", "m1@x.example"),
    "no brackets": ("m1@x.example", "m1@x.example"),
    "outer space": ("  <m1@x.example>\t", "m1@x.example"),
    "space inside the brackets": ("< m1@x.example >", "m1@x.example"),
    "line break behind": ("<m1@x.example>\r\n", "m1@x.example"),
    "folded before": ("\r\n <m1@x.example>", "m1@x.example"),
    "folded inside": (f"<{FOLDED_IN}>", "m1@mail. customer.example"),
    "folded by a bare line feed": ("<m1@\n\tx.example>", "m1@\tx.example"),
    "a blank inside": ("<a b@x.example>", "a b@x.example"),
    "plus": ("<a+b@x.example>", "a+b@x.example"),
    "percent escapes": ("<%3Ca%40x%3E@x.example>", "%3Ca%40x%3E@x.example"),
    "letters beyond ascii": ("<grüße@x.example>", "grüße@x.example"),
    "encoded word": ("=?utf-8?q?=3Cenc=40x=3E?=", "=?utf-8?q?=3Cenc=40x=3E?="),
    "letter case": ("<M1@X.Example>", "M1@X.Example"),
    "quoted local part": ('<"a@b"@x.example>', '"a@b"@x.example'),
    "comment": ("<m1@x.example> (hello)", "<m1@x.example> (hello)"),
    "no at": ("<20260105100000>", "20260105100000"),
    "slashes": ("<o/r/pull/1@github.example>", "o/r/pull/1@github.example"),
    "two pairs of brackets": ("<<m1@x.example>>", "<m1@x.example>"),
    "several ids": ("<a@x.example> <b@x.example>", "a@x.example> <b@x.example"),
    "opening bracket only": ("<m1@x.example", "<m1@x.example"),
    "closing bracket only": ("m1@x.example>", "m1@x.example>"),
    "very long": ("<" + "a" * 5_000 + "@x.example>", "a" * 5_000 + "@x.example"),
    "nul": ("<a\0b@x.example>", "a\0b@x.example"),
    "half a surrogate pair": ("<\ud83d@x.example>", "\ud83d@x.example"),
    "domain literal": ("<m1@[192.0.2.1]>", "m1@[192.0.2.1]"),
    "one bracket": ("<", "<"),
    "a provider's own": ("rem_01hz", "rem_01hz"),
    "empty": ("", None),
    "blank": (" \t\r\n", None),
    "empty brackets": ("<>", None),
    "blank brackets": (" < > ", None),
}


@pytest.mark.parametrize(("given", "expected"), ID_FORMS.values(), ids=ID_FORMS.keys())
def test_ids_lose_outer_space_and_one_pair_of_brackets_only(
    given: str, expected: str | None
) -> None:
    """Both sides of a comparison pass through here; whatever else changed would never match."""
    assert canonical_id(given) == expected


def test_event_key_holds_source_and_id_as_they_are() -> None:
    """An operator finds an event by the id that the provider shows."""
    assert event_key(SUPPORT, EventId("evt/1 x")) == "support/evt/1 x"


@pytest.mark.parametrize("event_id", ["", " ", "\n", "x" * 257, "é" * 129])
def test_event_ids_that_cannot_name_an_event_are_refused(event_id: str) -> None:
    """A blank id would make strangers' events duplicates of each other."""
    with pytest.raises(DecodeError):
        event_key(SUPPORT, EventId(event_id))


def test_event_id_may_be_as_long_as_the_limit() -> None:
    """The limit is in bytes and belongs to the id."""
    assert event_key(SUPPORT, EventId("é" * 128)) == "support/" + "é" * 128


def test_reply_key_is_the_same_for_ever() -> None:
    """It is the provider's idempotency key: another spelling would be a second mail."""
    assert reply_key(InboxId("a"), MessageId("b")) == (
        "reply-" + sha256(b"\0\0\0\x01a\0\0\0\x01b").hexdigest()
    )


def test_parts_cannot_run_into_each_other() -> None:
    """Without lengths ("a", "bc") and ("ab", "c") would be one thing."""
    assert framed("a", "bc") != framed("ab", "c")


def test_an_effect_has_its_own_key_by_name() -> None:
    """A refund and the reply to one message are two things to do once."""
    refund = effect_key(INBOX, MessageId("m1"), "refund")

    assert refund.startswith("refund-")
    assert refund != effect_key(INBOX, MessageId("m1"), "ticket")
    assert refund.removeprefix("refund-") != reply_key(INBOX, MessageId("m1"))[6:]


def test_a_conflict_stays_with_its_source() -> None:
    """Whose event it was is read from the key's beginning."""
    key = conflict_key(EventKey("support/evt_1"), INBOX, MessageId("m2"))

    assert key.startswith("support/conflict-")


def test_a_conflict_in_another_inbox_is_another_conflict() -> None:
    """The same mail in three inboxes is three messages, also under one event id."""
    key = EventKey("support/evt_1")

    keys = {conflict_key(key, InboxId(inbox), MessageId("m2")) for inbox in ("a", "b")}

    assert len(keys) == 2


def test_a_fetched_mail_is_named_by_the_message() -> None:
    """Announced twice, it is one mail; in two inboxes, two."""
    first = fetched_key(SUPPORT, INBOX, MessageId("m1"))

    assert first == "fetch:support/" + sha256(framed(INBOX, "m1")).hexdigest()
    assert first != fetched_key(SUPPORT, InboxId("other"), MessageId("m1"))


def test_a_derived_id_cannot_be_a_providers() -> None:
    """A mail without an id must not meet one whose id somebody made up to match."""
    assert derived_message_id(EventKey("support/evt_1")) == (
        "derived " + sha256(framed("support/evt_1")).hexdigest()
    )
