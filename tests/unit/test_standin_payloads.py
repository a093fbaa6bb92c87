"""Builders of AgentMail-shaped payloads: valid by default, different only where told."""

import json
from typing import Any

import msgspec
import pytest

from ops.standin.messages import Message, ThreadItem
from ops.standin.payloads import (
    ABSENT,
    BUILDERS,
    message_bounced,
    message_received,
    message_sent,
    to_body,
)

OBJECTS = {
    "message.received": {"message", "thread"},
    "message.security": {"message"},
    "message.sent": {"send"},
    "message.delivered": {"delivery"},
    "message.bounced": {"bounce"},
    "message.complained": {"complaint"},
    "message.rejected": {"reject"},
    "message.opened": {"open"},
    "domain.verified": {"domain"},
    "calendar.event": {"inbox_id", "calendar_event"},
}
ENVELOPE = {"type", "event_type", "event_id"}


@pytest.mark.parametrize("event_type", BUILDERS)
def test_payload_has_the_envelope_and_objects_of_its_type(event_type: str) -> None:
    """Every event type of providers.md 1.2 in the shape of 1.3."""
    ids = {"inbox_id": "i@x.example", "message_id": "<m>", "thread_id": "t"}

    payload = BUILDERS[event_type](event_id="evt_9", timestamp="2026-01-01T00:00:00Z", **ids)

    prefix = next(name for name in OBJECTS if event_type.startswith(name))
    optional = {"scheduled_at"} if event_type.endswith("ing") else set()
    assert set(payload) == ENVELOPE | OBJECTS[prefix] | optional
    assert (payload["type"], payload["event_type"], payload["event_id"]) == (
        "event",
        event_type,
        "evt_9",
    )
    assert json.loads(to_body(payload)) == payload


def test_there_is_a_builder_for_each_of_the_twenty_types() -> None:
    """A type without a builder is a type that no demo plays (providers.md 1.2)."""
    assert len(BUILDERS) == 20


@pytest.mark.parametrize("event_type", [name for name in BUILDERS if "received" in name])
def test_received_mail_is_a_whole_message_in_its_thread(event_type: str) -> None:
    """Required members of Message and ThreadItem are all there (providers.md 1.3)."""
    payload = BUILDERS[event_type](inbox_id="i@x.example")

    message = msgspec.convert(payload["message"], Message)
    thread = msgspec.convert(payload["thread"], ThreadItem)
    assert (message.inbox_id, thread.inbox_id) == ("i@x.example", "i@x.example")
    assert thread.last_message_id == message.message_id


def test_difference_changes_one_member() -> None:
    """A test states the one difference; the rest stays valid."""
    plain, changed = message_received(), message_received(subject="Other")

    assert {**changed["message"], "subject": "Hi"} == plain["message"]


def test_absent_leaves_a_member_out() -> None:
    """Any member but three may be missing on the wire."""
    payload = message_received(text=ABSENT, headers=ABSENT)

    assert payload["message"].keys() & {"text", "headers"} == set()


@pytest.mark.parametrize("sender", ["Bob <bob@y.example>", ["bob@y.example"], {"email": "b@y"}])
def test_sender_sets_from_in_any_shape(sender: Any) -> None:
    """The documents show from as text, list and object (providers.md 1.3)."""
    assert message_received(sender=sender)["message"]["from"] == sender


def test_fact_speaks_of_our_mail() -> None:
    """A bounce names the mail that we sent, not the one that we received."""
    assert message_bounced()["bounce"]["message_id"] == message_sent()["send"]["message_id"]
    assert message_bounced(recipients=[])["bounce"]["recipients"] == []
