"""A body too large for a record is judged like a small one, and lies in the store."""

import json
from typing import Any

import pytest

from schemas.blobs import BLOB_REFERENCE
from schemas.topics import INLINE_LIMIT_BYTES
from tests.doors import LocalDoor, arriving, signed
from tests.payloads import INBOX, a_message, an_event

LIMIT = 16 * INLINE_LIMIT_BYTES
# Alone as long as the inline limit.
FILLING = "x" * INLINE_LIMIT_BYTES


def a_large_event(**members: Any) -> bytes:
    """An event whose text does not fit a record."""
    return an_event(message=a_message(text=FILLING), **members)


def deliver(body: bytes) -> tuple[str | None, LocalDoor]:
    """The reason why a genuine delivery of it was refused, if it was, and the door."""
    door = LocalDoor(body_bytes=LIMIT)
    chunks = [body[at : at + 50_000] for at in range(0, len(body), 50_000)]
    return door.ask(arriving(*chunks), headers=signed(body)).reason, door


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_body_at_the_inline_limit_is_in_the_record_or_in_the_store(more: int) -> None:
    """A limit that is off by one makes a record that no topic takes, or a needless file."""
    room = INLINE_LIMIT_BYTES - len(an_event(message=a_message(text="")))
    body = an_event(message=a_message(text="x" * (room + more)))

    reason, door = deliver(body)

    (record,) = door.log.records
    is_blob = dict(record.headers).get("onereply-body") == b"blob"
    value = door.blobs.read(BLOB_REFERENCE.decode(record.value)) if is_blob else record.value
    assert (len(body), reason) == (INLINE_LIMIT_BYTES + more, None)
    assert (is_blob, value) == (more > 0, body)


def test_record_of_a_large_body_is_that_of_a_small_one_but_for_its_value() -> None:
    """Whatever is done by key and headers is done the same."""
    _, large = deliver(a_large_event())
    _, small = deliver(an_event())

    (one,), (other,) = large.log.records, small.log.records
    own = {name: value for name, value in one.headers if name != "traceparent"}
    assert own.pop("onereply-body") == b"blob"
    assert one.key == other.key
    assert own == {name: value for name, value in other.headers if name in own}


def test_same_body_again_is_one_blob() -> None:
    """A provider that repeats 35 MB for a day must not fill the disk."""
    door, body = LocalDoor(body_bytes=LIMIT), a_large_event()

    door.deliver(body)
    door.deliver(body, delivery_id="msg_2")

    first, second = (record.value for record in door.log.records)
    assert first == second
    assert [len(found) for found in door.blobs.days("cluster/inbound-events").values()] == [1]


# What is wrong, and the reason; each is longer than the inline limit.
BAD: dict[str, tuple[bytes, str]] = {
    "no id": (a_large_event(event_id=None), "no-event-id"),
    "no type": (a_large_event(event_type=""), "no-type"),
    "other workspace": (
        an_event(message=a_message(inbox_id="theirs@inbox.example", text=FILLING)),
        "wrong-workspace",
    ),
    "id twice": (a_large_event()[:-1] + b',"event_id":"evt_2"}', "member-twice"),
    "cut": (a_large_event()[:-2], "not-json"),
    "cut in a string": (a_large_event()[: INLINE_LIMIT_BYTES + 9], "not-json"),
    "more behind": (a_large_event() + b"{}", "not-json"),
    "deep": (b'{"a":"%s","b":%s1%s}' % (FILLING.encode(), b"[" * 64, b"]" * 64), "too-deep"),
    "bad escape": (b'{"a":"%s\\x"}' % FILLING.encode(), "not-json"),
    "line end in a string": (b'{"a":"%s\n"}' % FILLING.encode(), "not-json"),
    "not UTF-8": (b'{"a":"%s\xff"}' % FILLING.encode(), "not-utf-8"),
    "half a character": (b'{"a":"%s"}\xc3' % FILLING.encode(), "not-utf-8"),
    "nothing but structure": (b'{"a":[%s1]}' % (b"1," * INLINE_LIMIT_BYTES * 2), "body-too-large"),
}


@pytest.mark.parametrize(("body", "reason"), BAD.values(), ids=BAD)
def test_bad_large_body_is_refused_for_its_reason_and_leaves_nothing(
    body: bytes, reason: str
) -> None:
    """The length of a body excuses nothing."""
    found, door = deliver(body)

    assert (found, door.log.records, door.room.taken()) == (reason, [], 0)
    assert door.blobs.days("cluster/inbound-events") == {}


def test_forged_large_body_leaves_nothing() -> None:
    """Who may not speak may not fill the store either."""
    door, body = LocalDoor(body_bytes=LIMIT), a_large_event()

    reply = door.ask(body + b" ", headers=signed(body))

    assert reply.reason == "signature-wrong"
    assert (door.log.records, door.blobs.days("cluster/inbound-events")) == ([], {})


@pytest.mark.parametrize(
    "text",
    [
        "é" * INLINE_LIMIT_BYTES,
        '"\\/\b\n\x7f' * 199_999,
        "\ud83d" * 100_000,
        "😀" * 199_999,
    ],
    ids=["accents", "escapes", "halves of pairs", "pairs"],
)
@pytest.mark.parametrize("is_ascii", [True, False])
def test_any_text_is_taken_and_kept_byte_for_byte(text: str, *, is_ascii: bool) -> None:
    """What the skeleton leaves out is still the customer's mail."""
    event = json.loads(an_event(message=a_message(text=text)))
    body = json.dumps(event, ensure_ascii=is_ascii).encode("utf-8", "surrogatepass")

    reason, door = deliver(body)

    if "\ud83d" in text and not is_ascii:
        assert reason == "not-utf-8"
        return
    (record,) = door.log.records
    assert door.blobs.read(BLOB_REFERENCE.decode(record.value)) == body
    assert dict(record.headers)["ce_subject"] == INBOX.encode()
