import re

import pytest
from msgspec.structs import replace

from ingest.keys import Named
from ingest.records import Circumstances, Inbound, inbound, trace
from schemas.keys import EventId, EventKey, InboxId
from tests.doors import NOW_S, LocalDoor, signed
from tests.payloads import INBOX, an_event

TRACE = b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
NAMED = Named(
    key=EventKey("agentmail/evt_1"),
    event_id=EventId("evt_1"),
    event_type="message.received",
    inbox_id=InboxId(INBOX),
)
CAME = Circumstances(
    source="agentmail",
    provider="agentmail",
    proves="body",
    received_at_ms=NOW_S * 1000,
    delivery_id="msg_1",
    traceparent=TRACE,
)


def test_record_says_what_came_from_where_and_what_is_proven() -> None:
    """Stages and data teams read these headers instead of the body."""
    assert inbound(NAMED, b"{}", of=CAME) == Inbound(
        key=b"agentmail/evt_1",
        value=b"{}",
        headers=(
            ("ce_specversion", b"1.0"),
            ("content-type", b"application/json"),
            ("ce_type", b"message.received"),
            ("ce_id", b"evt_1"),
            ("ce_source", b"/sources/agentmail"),
            ("ce_subject", INBOX.encode()),
            ("onereply-received-at-ms", b"%d" % (NOW_S * 1000)),
            ("onereply-provider", b"agentmail"),
            ("onereply-proof", b"body"),
            ("traceparent", TRACE),
            ("onereply-delivery", b"msg_1"),
        ),
    )


@pytest.mark.parametrize("delivery_id", ["msg\n1", "msg_é", "msg\x00"])
def test_delivery_id_that_cannot_stand_in_a_header_is_left_out(delivery_id: str) -> None:
    """A header that breaks a reader helps nobody."""
    record = inbound(NAMED, b"{}", of=replace(CAME, delivery_id=delivery_id))

    assert "onereply-delivery" not in dict(record.headers)


@pytest.mark.parametrize(
    "given",
    [
        b"",
        b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
        b"ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        b"00-" + b"0" * 32 + b"-b7ad6b7169203331-01",
        b"00-0af7651916cd43dd8448eb211c80319c-" + b"0" * 16 + b"-01",
        TRACE.upper(),
        TRACE + b"\n",
        TRACE + b", " + TRACE,
    ],
)
def test_trace_that_is_none_is_replaced(given: bytes) -> None:
    """A stranger's header goes on only in the form that the standard gives it."""
    made = trace(given)

    assert made != given
    assert re.fullmatch(rb"00-[0-9a-f]{32}-[0-9a-f]{16}-00", made)


def test_no_other_request_header_reaches_the_record() -> None:
    """Cookies and addresses of proxies have no business in the log."""
    door = LocalDoor()

    door.ask(
        an_event(),
        headers=[*signed(an_event()), (b"cookie", b"x"), (b"ce_type", b"y"), (b"x-real-ip", b"z")],
    )

    (record,) = door.log.records
    assert {b"x", b"y", b"z"}.isdisjoint(value for _, value in record.headers)
