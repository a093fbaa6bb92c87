"""Whatever is sent, the door answers with a status that the sender understands."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.rules import AGENTMAIL
from tests.doors import UNHURRIED, HeaderList, LocalDoor, arriving, signed
from tests.payloads import INBOX, a_message, an_event

UNDERSTOOD = {204, 400, 413, 415, 431}

names = st.sampled_from(
    [
        b"svix-id",
        b"svix-timestamp",
        b"svix-signature",
        b"webhook-id",
        b"webhook-timestamp",
        b"webhook-signature",
        b"content-type",
        b"content-encoding",
        b"content-length",
        b"traceparent",
        b"x-other",
    ]
)
values = st.one_of(st.binary(max_size=60), st.sampled_from([value for _, value in signed(b"{}")]))
header_lists = st.lists(st.tuples(names, values), max_size=15)

json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)
odd_members = st.dictionaries(
    st.sampled_from(["type", "event_type", "event_id", "message", "thread", "send", "x"]),
    json_values
    | st.sampled_from([*AGENTMAIL.holders, "new.type"])
    | st.fixed_dictionaries({"inbox_id": json_values | st.just(INBOX)}),
    max_size=5,
)


@UNHURRIED
@given(headers=header_lists, chunks=st.lists(st.binary(max_size=200), min_size=1, max_size=4))
def test_strangers_get_an_answer_that_is_no_failure_of_ours(
    headers: HeaderList, chunks: list[bytes]
) -> None:
    """A 500 would be sent again for a day, and says that the door has a hole."""
    door = LocalDoor()

    reply = door.ask(arriving(*chunks), headers=headers)

    assert reply.status in UNDERSTOOD - {204}
    assert door.log.records == []


@UNHURRIED
@given(st.binary(max_size=300))
def test_signed_bytes_of_any_kind_are_judged(body: bytes) -> None:
    """A sender's bug is the sender's 400."""
    door = LocalDoor()

    assert door.deliver(body).status == 400
    assert door.log.records == []


@UNHURRIED
@given(odd_members)
def test_signed_events_of_any_shape_are_kept_whole_or_refused(members: dict[str, Any]) -> None:
    """Accepted means stored, byte for byte, under a key; refused means nothing was stored."""
    door, body = LocalDoor(), an_event(**members)

    reply = door.deliver(body)

    assert reply.status in {204, 400}
    assert [record.value for record in door.log.records] == [body] * (reply.status == 204)
    assert all(record.key.startswith(b"agentmail/") for record in door.log.records)


@settings(UNHURRIED, max_examples=30)
@given(st.integers(min_value=0), st.data())
def test_any_change_to_a_signed_body_is_noticed(seed: int, data: st.DataObject) -> None:
    """What is stored is what the sender signed."""
    body = an_event(message=a_message(text="x" * (seed % 50)))
    at = data.draw(st.integers(0, len(body) - 1))
    changed = body[:at] + bytes([body[at] ^ 1]) + body[at + 1 :]

    assert LocalDoor().ask(changed, headers=signed(body)).reason == "signature-wrong"
