import json
from typing import Any
from urllib.parse import urlencode

import pytest

from ingest.answers import Reason
from ingest.signatures.mailgun import MailgunVerifier
from tests.doors import NOW_S, LocalDoor
from tests.senders import (
    JSON,
    OTHER_SECRET,
    TEXT_SECRET,
    Delivery,
    a_source,
    handed,
    judged,
    mailgun,
    mailgun_fields,
    multipart,
)

TOKEN = "t" * 50


def in_parts(fields: dict[str, str], boundary: str = "xYz") -> Delivery:
    """The fields as Mailgun posts them when the mail has attachments."""
    kind = f"multipart/form-data; boundary={boundary}".encode()
    return Delivery([(b"content-type", kind)], multipart(fields, boundary=boundary, file=b"\xff"))


def an_event_of(event: str = "delivered", **changes: Any) -> Delivery:
    """A webhook about a mail of ours, which Mailgun posts as JSON."""
    fields = mailgun_fields()
    signature = {name: fields[name] for name in ("timestamp", "token", "signature")}
    body = {"signature": signature, "event-data": {"event": event, "id": "e1"}, **changes}
    return Delivery([JSON], json.dumps(body).encode())


def test_published_vector_is_accepted() -> None:
    """A vector from elsewhere keeps the verifier and this file from being wrong together."""
    mac = "615e23d98a15dff427da1e59864fad3b0375eec346847dac6dd87091a4e8c7b5"
    fields = mailgun_fields(at_s=1_764_500_000, signature=mac)

    assert judged(MailgunVerifier(["key-test"]), mailgun(fields), now_s=1_764_500_000) == TOKEN


@pytest.mark.parametrize("secret", [TEXT_SECRET, OTHER_SECRET])
@pytest.mark.parametrize("form", [mailgun, in_parts], ids=["urlencoded", "multipart"])
def test_either_secret_and_either_form_are_accepted(secret: str, form: Any) -> None:
    """A mail with attachments comes in parts."""
    verifier = MailgunVerifier([TEXT_SECRET, OTHER_SECRET])

    assert judged(verifier, form(mailgun_fields(secret=secret))) == TOKEN


def test_event_in_json_is_accepted() -> None:
    """What became of a mail of ours comes so, its three fields in an object of their own."""
    assert judged(MailgunVerifier([TEXT_SECRET]), an_event_of()) == TOKEN


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"token": ""}, Reason.SIGNATURE_MISSING),
        ({"signature": ""}, Reason.SIGNATURE_MISSING),
        ({"timestamp": ""}, Reason.SIGNATURE_MISSING),
        ({"timestamp": "1e9"}, Reason.SIGNATURE_MALFORMED),
        ({"token": "x" * 257}, Reason.SIGNATURE_MALFORMED),
        ({"signature": "é"}, Reason.SIGNATURE_MALFORMED),
        ({"signature": "0" * 64}, Reason.SIGNATURE_WRONG),
        ({"timestamp": str(NOW_S + 1)}, Reason.SIGNATURE_WRONG),
    ],
)
def test_anything_else_is_refused_with_its_reason(changes: dict[str, str], reason: str) -> None:
    """All three stand in the body, where anything may stand."""
    given = mailgun(mailgun_fields() | changes)

    assert judged(MailgunVerifier([TEXT_SECRET]), given) == reason


def test_token_with_a_signature_of_another_is_refused() -> None:
    """The token is what is signed."""
    given = mailgun(mailgun_fields() | {"token": "u" * 50})

    assert judged(MailgunVerifier([TEXT_SECRET]), given) == Reason.SIGNATURE_WRONG


@pytest.mark.parametrize(
    ("age_s", "max_age_s", "outcome"),
    [
        (300, 300, TOKEN),
        (301, 300, Reason.SIGNATURE_TOO_OLD),
        (28_800, 28_800, TOKEN),
        (-300, 300, TOKEN),
        (-301, 28_800, Reason.SIGNATURE_TOO_NEW),
    ],
)
def test_time_is_of_about_now(age_s: int, max_age_s: int, outcome: str) -> None:
    """A captured token is soon of no use, unless the source takes retries of old ones."""
    given = mailgun(mailgun_fields(at_s=NOW_S - age_s))

    assert judged(MailgunVerifier([TEXT_SECRET], max_age_s=max_age_s), given) == outcome


def test_token_is_good_for_one_mail_however_it_is_written() -> None:
    """A retry may come with another boundary; a forger comes with another mail."""
    verifier = MailgunVerifier([TEXT_SECRET])
    mail, forged = mailgun_fields(), mailgun_fields(sender="eve@y.example")

    answers = [
        judged(verifier, each)
        for each in (in_parts(mail), in_parts(mail, "other"), mailgun(mail), mailgun(forged))
    ]

    assert answers == [TOKEN, TOKEN, TOKEN, Reason.SIGNATURE_USED]


def test_tokens_are_remembered_as_long_as_their_time_is_good() -> None:
    """A memory without an end would be filled by time alone."""
    verifier = MailgunVerifier([TEXT_SECRET])
    judged(verifier, mailgun(mailgun_fields()))
    later_s = NOW_S + 601

    again = mailgun_fields(at_s=later_s, sender="eve@y.example")

    assert judged(verifier, mailgun(again), now_s=later_s) == TOKEN


def test_many_tokens_push_the_oldest_out() -> None:
    """The memory has a limit, and a full one refuses nobody."""
    verifier = MailgunVerifier([TEXT_SECRET], most_tokens=2)
    tokens = [str(number) * 50 for number in range(3)]
    for token in tokens:
        judged(verifier, mailgun(mailgun_fields(token=token)))

    forged = [
        judged(verifier, mailgun(mailgun_fields(token=token, sender="eve@y.example")))
        for token in (tokens[2], tokens[0])
    ]

    assert forged == [Reason.SIGNATURE_USED, tokens[0]]


@pytest.mark.parametrize(
    ("body", "kind", "reason"),
    [
        (b"{", b"application/json", Reason.NOT_JSON),
        (b"\xff", b"application/json", Reason.NOT_UTF8),
        (b'{"signature":{"token":"a","token":"b"}}', b"application/json", Reason.TWICE),
        (b"token=a&token=b", b"application/x-www-form-urlencoded", Reason.TWICE),
        (b"--x\r\n", b"multipart/form-data; boundary=x", Reason.NOT_FORM),
        (b"", b"multipart/form-data", Reason.WRONG_TYPE),
    ],
)
def test_body_that_cannot_be_read_is_refused_before_it_is_proven(
    body: bytes, kind: bytes, reason: str
) -> None:
    """The proof stands in the body, so it is read before anybody is known to have sent it."""
    given = Delivery([(b"content-type", kind)], body)

    assert judged(MailgunVerifier([TEXT_SECRET]), given) == reason


def test_record_says_that_the_body_is_not_covered() -> None:
    """Whoever reads it must know that the mail beside the token is anybody's word."""
    door = LocalDoor(a_source("mailgun", "mailgun"), {"SECRET": TEXT_SECRET})
    changed = urlencode(mailgun_fields() | {"body-plain": "something else"}).encode()

    reply = handed(door, mailgun(mailgun_fields())._replace(body=changed))

    (record,) = door.log.records
    headers = dict(record.headers)
    assert (reply.status, record.value, record.key) == (200, changed, b"a/" + TOKEN.encode())
    assert headers["onereply-proof"] == b"sender"
    assert headers["content-type"] == b"application/x-www-form-urlencoded"


def test_event_of_ours_is_kept_under_its_own_type() -> None:
    """It answers nothing; later stages learn from it that a mail arrived."""
    door = LocalDoor(a_source("mailgun", "mailgun"), {"SECRET": TEXT_SECRET})

    handed(door, an_event_of("failed"))

    (record,) = door.log.records
    headers = dict(record.headers)
    assert (headers["ce_type"], record.key) == (b"failed", b"a/" + TOKEN.encode())
    assert "ce_subject" not in headers
