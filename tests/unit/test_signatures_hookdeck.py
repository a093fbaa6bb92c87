import pytest

from ingest.answers import Reason
from ingest.signatures.hookdeck import HookdeckVerifier
from tests.doors import NOW_S, LocalDoor, signed
from tests.payloads import an_event
from tests.senders import (
    JSON,
    OTHER_SECRET,
    TEXT_SECRET,
    Delivery,
    a_source,
    handed,
    hookdeck,
    judged,
)

BODY = b'{"type":"event","event_type":"message.received","event_id":"evt_1"}'
DAY_S = 86_400


def test_published_vector_is_accepted() -> None:
    """A vector from elsewhere keeps the verifier and this file from being wrong together."""
    mac = b"TfqtBKJ0pIdGNRWxEO2FZQQi+CV3qViimm8DL24gO24="

    assert (
        judged(HookdeckVerifier(["shh-secret"]), Delivery([(b"x-hookdeck-signature", mac)], BODY))
        == ""
    )


@pytest.mark.parametrize("header", ["", "-2"])
@pytest.mark.parametrize("secret", [TEXT_SECRET, OTHER_SECRET])
def test_either_header_and_either_secret_of_a_rotation_are_accepted(
    header: str, secret: str
) -> None:
    """While a secret is rotated the relay signs with both, one in each header."""
    other = (b"x-hookdeck-signature", b"AAAA")
    delivery = hookdeck(BODY, secret=secret, header=header)
    given = delivery._replace(headers=[other, *delivery.headers] if header else delivery.headers)

    assert judged(HookdeckVerifier([TEXT_SECRET, OTHER_SECRET]), given) == ""


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        (b"", Reason.SIGNATURE_MISSING),
        (b"x" * 3000, Reason.SIGNATURE_MALFORMED),
        (b"\xe9", Reason.SIGNATURE_WRONG),
        (hookdeck(BODY, secret=OTHER_SECRET).headers[0][1], Reason.SIGNATURE_WRONG),
        (hookdeck(BODY).headers[0][1] + b"=", Reason.SIGNATURE_WRONG),
        (hookdeck(BODY + b" ").headers[0][1], Reason.SIGNATURE_WRONG),
    ],
)
def test_anything_but_the_exact_signature_is_refused(header: bytes, reason: str) -> None:
    """A lenient decoder would accept other texts for the same signature."""
    given = Delivery([(b"x-hookdeck-signature", header), JSON], BODY)

    assert judged(HookdeckVerifier([TEXT_SECRET]), given) == reason


def test_inner_signature_of_yesterday_does_not_matter_behind_the_relay() -> None:
    """The relay was paused for a day: its own signature counts, and no mail is lost."""
    door = LocalDoor(a_source("agentmail", "hookdeck"), {"SECRET": TEXT_SECRET})
    delivery = hookdeck(an_event())
    inner = signed(an_event(), at_s=NOW_S - DAY_S)[:3]

    reply = handed(door, delivery._replace(headers=[*delivery.headers, *inner]))

    assert (reply.status, [each.key for each in door.log.records]) == (204, [b"a/evt_1"])


def test_good_inner_signature_is_no_proof_behind_a_relay() -> None:
    """Only the relay has this address: who comes past it got the delivery elsewhere."""
    door = LocalDoor(a_source("agentmail", "hookdeck"), {"SECRET": TEXT_SECRET})

    reply = handed(door, Delivery(signed(an_event()), an_event()))

    assert reply.reason == "signature-missing"


def test_unsigned_header_of_the_relay_is_no_ones_id() -> None:
    """Whoever captured a body could give it a new id with each copy."""
    door = LocalDoor(a_source("resend", "hookdeck"), {"SECRET": TEXT_SECRET})
    body = (
        b'{"type":"email.received","data":{"email_id":"e1","to":["support@inbox.example"],'
        b'"from":"a@y.example","created_at":"2026-01-05T10:00:00Z"}}'
    )
    for number in (b"1", b"2"):
        delivery = hookdeck(body)
        unsigned = [(b"x-hookdeck-eventid", number), (b"svix-id", number)]
        handed(door, delivery._replace(headers=[*delivery.headers, *unsigned]))

    assert len({record.key for record in door.log.records}) == 1
    assert len(door.log.records) == 2
