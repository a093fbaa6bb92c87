from base64 import b64decode, b64encode

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from ingest.answers import Reason
from ingest.signatures import BadSecret
from ingest.signatures.sendgrid import SendGridVerifier
from tests.doors import NOW_S, LocalDoor
from tests.senders import (
    a_source,
    handed,
    judged,
    multipart,
    sendgrid,
    sendgrid_fields,
    sendgrid_key,
    spki,
)

BODY = multipart(sendgrid_fields(), file=bytes(range(256)))
KEY = spki(sendgrid_key())
SIGNATURE, TIMESTAMP = (name for name, _ in sendgrid(BODY).headers[:2])


@pytest.mark.parametrize("curve", [ec.SECP256R1(), ec.SECP384R1()], ids=["P-256", "P-384"])
def test_either_key_of_a_rotation_is_accepted(curve: ec.EllipticCurve) -> None:
    """The curve is the key's own."""
    other = spki(ec.generate_private_key(curve))

    assert judged(SendGridVerifier([other, KEY + "\n"]), sendgrid(BODY)) == ""
    assert judged(SendGridVerifier([other]), sendgrid(BODY)) == Reason.SIGNATURE_WRONG


def test_bytes_that_are_no_text_are_verified_as_they_are() -> None:
    """Attachments and old charsets stand in the body."""
    delivery = sendgrid(BODY)

    assert judged(SendGridVerifier([KEY]), delivery) == ""
    changed = delivery._replace(body=BODY.replace(b"\xff", b"\xfe"))
    assert judged(SendGridVerifier([KEY]), changed) == Reason.SIGNATURE_WRONG


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        (SIGNATURE, b"", Reason.SIGNATURE_MISSING),
        (TIMESTAMP, b"", Reason.SIGNATURE_MISSING),
        (TIMESTAMP, b"%d " % NOW_S, Reason.SIGNATURE_MALFORMED),
        (TIMESTAMP, b"%d" % (NOW_S + 1), Reason.SIGNATURE_WRONG),
        (SIGNATURE, b"!!", Reason.SIGNATURE_MALFORMED),
        (SIGNATURE, b"AAAA", Reason.SIGNATURE_WRONG),
        (SIGNATURE, b"\xff", Reason.SIGNATURE_MALFORMED),
        (SIGNATURE, b"A" * 3000, Reason.SIGNATURE_MALFORMED),
    ],
)
def test_anything_else_is_refused_with_its_reason(name: bytes, value: bytes, reason: str) -> None:
    """Time and bytes are signed together."""
    delivery = sendgrid(BODY)
    headers = [(each, value if each == name else old) for each, old in delivery.headers]

    assert judged(SendGridVerifier([KEY]), delivery._replace(headers=headers)) == reason


def test_signature_with_something_behind_it_is_refused() -> None:
    """DER has one text for one signature."""
    delivery = sendgrid(BODY)
    longer = b64encode(b64decode(delivery.headers[0][1]) + b"\x00")
    given = delivery._replace(headers=[(SIGNATURE, longer), *delivery.headers[1:]])

    assert judged(SendGridVerifier([KEY]), given) == Reason.SIGNATURE_WRONG


@pytest.mark.parametrize(
    ("age_s", "max_age_s", "outcome"),
    [
        (300, 300, ""),
        (301, 300, Reason.SIGNATURE_TOO_OLD),
        (301, 600, ""),
        (-300, 300, ""),
        (-301, 600, Reason.SIGNATURE_TOO_NEW),
    ],
)
def test_time_is_of_about_now(age_s: int, max_age_s: int, outcome: str) -> None:
    """Five minutes either way; a longer past only where the source says so."""
    delivery = sendgrid(BODY, at_s=NOW_S - age_s)

    assert judged(SendGridVerifier([KEY], max_age_s=max_age_s), delivery) == outcome


@pytest.mark.parametrize(
    "secret",
    [
        "",
        "!!",
        "AAAA",
        KEY[:-8],
        spki(rsa.generate_private_key(public_exponent=65_537, key_size=2048)),
    ],
    ids=["empty", "no base64", "no key", "cut", "of another kind"],
)
def test_text_that_is_no_such_key_is_refused(secret: str) -> None:
    """The source would refuse everybody, in silence."""
    with pytest.raises(BadSecret):
        SendGridVerifier([secret])


def test_mail_is_kept_whole_with_the_type_that_reads_it() -> None:
    """A form without its boundary cannot be taken apart again."""
    door = LocalDoor(a_source("sendgrid", "sendgrid"), {"SECRET": KEY})

    reply = handed(door, sendgrid(BODY))

    (record,) = door.log.records
    headers = dict(record.headers)
    assert (reply.status, record.value) == (200, BODY)
    assert headers["content-type"] == b'multipart/form-data; boundary="xYz"'
    assert (headers["onereply-proof"], headers["ce_type"]) == (b"body", b"inbound")
    assert headers["ce_subject"] == b"support@inbox.example"
