"""Mails that fooled other systems, as their provider told them, and what becomes of each here."""

from typing import Any

import msgspec
import pytest

from processors.core.intake import Intake
from processors.providers.agentmail import read
from schemas.events import ThreadEvent, Where
from schemas.keys import EventId, EventKey, SourceName
from tests.deciding import Deciding, asks, decisions
from tests.turns import NOW_MS

SUPPORT = "support@inbox.example"
Changes = dict[str, Any]


def received(number: int, event_type: str = "message.received", **changes: Any) -> ThreadEvent:
    """A question to support, with what this case changes, as AgentMail tells it."""
    event_id = EventId(f"evt-{number}")
    message: Changes = {
        "inbox_id": SUPPORT,
        "thread_id": f"thd-{number}",
        "message_id": f"<m{number}@mail.customer.example>",
        "timestamp": "2026-01-05T10:00:00Z",
        "from": "Jane Roe <jane@customer.example>",
        "to": [SUPPORT],
        "subject": "Question",
        "text": "Hello",
        "headers": {},
    }
    body = {"type": "event", "event_type": event_type, "event_id": event_id}
    intake = Intake(
        event_key=EventKey(f"src/{event_id}"),
        event_id=event_id,
        source=SourceName("src"),
        provider="agentmail",
        workspace="acme",
        received_at_ms=NOW_MS,
        origin=Where(topic="inbound-events", partition=0, offset=number),
    )
    return read(msgspec.json.encode(body | {"message": message | changes}), intake)


def headers(**fields: Any) -> Changes:
    """A change of the mail's header fields, underscores for hyphens."""
    return {"headers": {name.replace("_", "-"): held for name, held in fields.items()}}


SKIPPED: dict[str, list[tuple[str, Changes]]] = {
    "out-of-office answer": [
        (
            "auto-submitted",
            headers(Auto_Submitted="auto-replied") | {"subject": "Automatic reply: Question"},
        )
    ],
    "auto-submitted in every form": [
        ("auto-submitted", headers(Auto_Submitted=value))
        for value in (
            "auto-generated",
            "AUTO-REPLIED",
            "auto-replied (vacation)",
            "auto-generated; type=ticket",
            'auto-notified; owner-email="a@b.example"',
            "(robot) auto-replied",
            "x-future-keyword",
        )
    ],
    "bounce": [
        (
            "bounce",
            {"from": "Mail Delivery System <MAILER-DAEMON@mx.customer.example>"}
            | headers(
                Return_Path="<>",
                Content_Type='multipart/report; report-type=delivery-status; boundary="b"',
                Auto_Submitted="auto-replied",
            ),
        )
    ],
    "null return path alone": [
        ("null-return-path", headers(Return_Path="<>")),
        ("null-return-path", headers(return_path=" <> ")),
    ],
    "read receipt": [
        (
            "mdn",
            headers(
                Content_Type="multipart/report; report-type=disposition-notification; boundary=z"
            ),
        )
    ],
    "post to a list": [
        (
            "list",
            headers(
                List_Id="Users <users.lists.example>", List_Post="<mailto:users@lists.example>"
            ),
        ),
        ("list", headers(List_Unsubscribe="<mailto:u@news.example>")),
    ],
    "own address": [
        ("own-address", {"from": f"Support <{SUPPORT}>"}),
        ("own-address", {"from": "SUPPORT@INBOX.EXAMPLE"}),
        ("own-address", {"from": "support+case9@inbox.example"}),
        ("own-address", {"from": "Billing <billing@inbox.example>"}),
    ],
    "answers to our own inbox": [("own-address", {"reply_to": [SUPPORT]})],
    "no-reply sender": [
        ("no-reply-sender", {"from": f"{local}@shop.example"})
        for local in ("noreply", "No-Reply", "do-not-reply", "donotreply+77", "no.reply")
    ],
    "nobody to answer": [
        ("no-sender", {"from": ""}),
        ("no-sender", {"from": "<>"}),
        ("no-sender", {"from": "undisclosed"}),
        ("machine-sender", {"from": "MAILER-DAEMON"}),
        ("no-sender", {"from": None}),
        ("no-sender", {"from": []}),
    ],
    "one field twice": [
        ("auto-submitted", headers(Auto_Submitted=["no", "auto-replied"])),
        ("precedence", headers(Precedence=["first-class", "bulk"])),
        (
            "auto-submitted",
            {
                "headers": [
                    {"name": "Auto-submitted", "value": "no"},
                    {"name": "Auto-Submitted", "value": "auto-replied"},
                ]
            },
        ),
    ],
    "our answer under another id": [
        (
            "auto-submitted",
            {"from": "Forwarder <fwd@customer.example>", "in_reply_to": "<rewritten@p.example>"}
            | headers(
                Auto_Submitted="auto-replied", X_Original_Message_ID="<our-reply-1@inbox.example>"
            ),
        )
    ],
}

ANSWERED: dict[str, list[Changes]] = {
    "suppressing nothing, or receipts only": [
        headers(X_Auto_Response_Suppress=value) for value in ("None", "DR, RN, NRN", "NDR")
    ],
    "words of a machine in the subject": [
        {"subject": "Automatic door at our office is broken"},
        {"subject": "Out of office furniture - price list?"},
        {"subject": "Undeliverable parcel, please help"},
    ],
    "inbox that no header names": [
        {"to": ["press@newspaper.example"]},
        {"to": ["undisclosed-recipients:;"]},
        {"to": []},
    ],
    "strange recipients": [{"to": ["<>"]}, {"to": ["Team: a@x.example, b@x.example;"]}],
    "sender in every published shape": [
        {"from": [{"name": "Jane Roe", "email": "jane@customer.example"}]},
        {"from": {"name": "Jane Roe", "email": "jane@customer.example"}},
    ],
    "many people in the mail": [
        {"to": [SUPPORT, "list@partner.example"], "cc": ["boss@customer.example"]}
    ],
    "line breaks where they hurt": [
        {"subject": "Hi\r\nBcc: victim@evil.example"},
        {"from": "=?utf-8?b?SmFuZQ0KQmNjOiB4QGV2aWwuZXhhbXBsZQ==?= <jane@customer.example>"},
    ],
}


@pytest.mark.parametrize("mails", SKIPPED.values(), ids=SKIPPED.keys())
def test_mail_is_not_answered_and_says_by_which_rule(mails: list[tuple[str, Changes]]) -> None:
    """Each of these started a loop, or a mail to nobody, somewhere."""
    deciding = Deciding()

    outputs = deciding.give(*(received(n, **changes) for n, (_, changes) in enumerate(mails)))

    assert [each.rule for each in decisions(outputs)] == [rule for rule, _ in mails]
    assert asks(outputs) == []


@pytest.mark.parametrize("mails", ANSWERED.values(), ids=ANSWERED.keys())
def test_mail_is_answered(mails: list[Changes]) -> None:
    """Each of these was left without an answer, or dropped, somewhere."""
    deciding = Deciding()

    outputs = deciding.give(*(received(n, **changes) for n, changes in enumerate(mails)))

    assert [each.outcome for each in decisions(outputs)] == ["send"] * len(mails)
    assert len(asks(outputs)) == len(mails)


@pytest.mark.parametrize(
    "event_type",
    [
        "message.sent",
        "message.delivered",
        "message.bounced",
        "message.complained",
        "message.rejected",
        "domain.verified",
        "message.future_kind",
    ],
)
def test_event_that_is_no_received_mail_is_not_decided(event_type: str) -> None:
    """The envelope's constant type says nothing; the event type does."""
    outputs = Deciding().give(received(1, event_type))

    assert (decisions(outputs), asks(outputs)) == ([], [])


def test_machine_that_changes_its_address_meets_the_thread_cap() -> None:
    """One character of the sender changed with every automatic answer, so its own cap never did."""
    deciding = Deciding()

    for number, suffix in enumerate("123456789abc"):
        deciding.wait(60_000)
        deciding.give(
            received(number, thread_id="thd", **{"from": f"exec-00{suffix}@crm.customer.example"})
        )

    assert len(asks(deciding.outputs)) == deciding.settings.cap_thread_hour


def test_machine_that_also_changes_its_thread_meets_the_correspondent_cap() -> None:
    """Numbered senders are one correspondent."""
    deciding = Deciding()

    for number, suffix in enumerate("123456789abc"):
        deciding.give(received(number, **{"from": f"exec-00{suffix}@crm.customer.example"}))

    assert len(asks(deciding.outputs)) == deciding.settings.cap_correspondent_day


def test_sender_in_another_letter_case_is_the_same_correspondent() -> None:
    """Comparison folds; the address that an answer goes to stays as it came."""
    deciding = Deciding(cap_correspondent_day=1)

    outputs = deciding.give(
        received(1, **{"from": "Jane.Roe@Customer.EXAMPLE"}),
        received(2, **{"from": "JANE.ROE@customer.example"}),
    )

    assert [each.rule for each in decisions(outputs)] == ["route-send", "cap-correspondent"]
    assert [each.event.sender for each in asks(outputs)] == ["Jane.Roe@Customer.EXAMPLE"]


def test_mail_without_a_header_map_is_held() -> None:
    """An empty header map is an answer; an absent one is unknown, and unknown is not allowed."""
    outputs = Deciding().give(received(1, headers=None), received(2, headers={}))

    assert [each.rule for each in decisions(outputs)] == ["headers-unknown", "route-send"]
