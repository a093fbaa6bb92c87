from typing import Any

import pytest

from schemas.errors import Refused
from schemas.events import Kind, ThreadEvent
from schemas.keys import InboxId, MessageId, ThreadKey
from tests.inbound import INTAKE, read
from tests.payloads import INBOX, a_body, a_message

NOW_NS = INTAKE.received_at_ms * 1_000_000
FACT = {
    "inbox_id": INBOX,
    "thread_id": "thd_1",
    "message_id": "<r1@inbox.example>",
    "timestamp": "2026-01-05T10:00:00Z",
}
FACTS: dict[str, tuple[str, dict[str, Any], str, tuple[str, ...], str | None]] = {
    "message.sent": ("send", {"recipients": ["j@x.example"]}, Kind.SENT, ("j@x.example",), None),
    "message.delivered": ("delivery", {"recipients": ["j@x"]}, Kind.DELIVERED, ("j@x",), None),
    "message.bounced": (
        "bounce",
        {
            "type": "Permanent",
            "sub_type": "General",
            "recipients": [{"address": "j@x.example", "status": "bounced"}],
        },
        Kind.BOUNCED,
        ("j@x.example",),
        "Permanent/General",
    ),
    "message.complained": (
        "complaint",
        {"type": "abuse", "sub_type": None, "recipients": ["j@x"]},
        Kind.COMPLAINED,
        ("j@x",),
        "abuse",
    ),
    "message.rejected": ("reject", {"reason": "Bad content"}, Kind.REJECTED, (), "Bad content"),
    "message.opened": ("open", {}, Kind.OPENED, (), None),
}
OTHERS = (
    "message.security.completed",
    "message.security.review",
    "message.security.override",
    "calendar.event.created",
    "calendar.event.responded",
    "domain.verified",
    "message.future_kind",
)


@pytest.mark.parametrize("event_type", FACTS)
def test_facts_are_read_where_the_provider_puts_them(event_type: str) -> None:
    """What became of a reply has a member of its own for each type."""
    member, more, kind, recipients, detail = FACTS[event_type]

    event = read(a_body(event_type, **{member: {**FACT, **more}}))

    assert event == ThreadEvent(
        **INTAKE.fields(),
        kind=kind,
        inbox_id=InboxId(INBOX),
        occurred_at_ns=NOW_NS,
        thread_key=ThreadKey("thd_1"),
        message_id=MessageId("r1@inbox.example"),
        provider_message_id="<r1@inbox.example>",
        provider_thread_id="thd_1",
        recipients=recipients,
        detail=detail,
    )


@pytest.mark.parametrize("event_type", [*FACTS, *OTHERS, "message.received"])
def test_an_event_with_its_facts_elsewhere_is_kept_as_other(event_type: str) -> None:
    """It is passed on and never answered."""
    event = read(a_body(event_type, message=[], elsewhere=a_message()))

    assert (event.kind, event.detail, event.inbox_id) == (Kind.OTHER, event_type, INBOX)
    assert (event.message_id, event.thread_key) == ("m1@customer.example", "thd_1")


@pytest.mark.parametrize(
    "members", [{}, {"domain": {"domain_id": "d"}}, {"send": {**FACT, "inbox_id": 5}}]
)
def test_an_event_of_no_inbox_stands_under_its_source(members: dict[str, Any]) -> None:
    """A domain that was verified is nobody's mail, and is not lost either."""
    event = read(a_body("domain.verified", **members))

    assert (event.kind, event.inbox_id, event.message_id) == (Kind.OTHER, "source:support", None)


def test_a_fact_without_ids_is_still_a_fact() -> None:
    """A complaint counts against the inbox even where it names no message."""
    event = read(a_body("message.complained", complaint={"inbox_id": INBOX}))

    assert event == ThreadEvent(
        **INTAKE.fields(),
        kind=Kind.COMPLAINED,
        inbox_id=InboxId(INBOX),
        occurred_at_ns=NOW_NS,
        time_mark="missing",
    )


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"\xff\xfe\0\1",
        b"[]",
        b"{}",
        b'{"event_type":7}',
        b'{"event_type":" "}',
        a_body(message={"thread_id": "thd_1"}),
        a_body(message={"inbox_id": " "}),
        a_body(message={"inbox_id": ["support@inbox.example"]}),
    ],
)
def test_what_names_no_event_or_no_inbox_is_refused(body: bytes) -> None:
    """It becomes a dead letter with this reason, and the partition moves on."""
    with pytest.raises(Refused):
        read(body)
