import hmac
from base64 import b64encode

import pytest

from ingest.answers import Reason
from ingest.signatures import BadSecret
from ingest.signatures.generic import GenericVerifier
from schemas.sources import Hmac
from tests.doors import NOW_S, LocalDoor
from tests.payloads import an_event
from tests.senders import (
    JSON,
    OTHER_SECRET,
    TEXT_SECRET,
    Delivery,
    a_source,
    handed,
    judged,
    mac,
)

BODY = b'{"a":1}'
PLAIN = Hmac(signature_header="X-Signature", prefix="sha256=")
FULL = Hmac(
    signature_header="X-Signature",
    timestamp_header="X-Time",
    id_header="X-Id",
    signed="v0:{timestamp}:{id}:{body}",
    encoding="base64",
    algorithm="sha512",
)


def verifier(description: Hmac, *secrets: str, max_age_s: int = 300) -> GenericVerifier:
    """A verifier of this description."""
    return GenericVerifier(secrets or (TEXT_SECRET,), description, max_age_s=max_age_s)


def plain(body: bytes = BODY, *, secret: str = TEXT_SECRET) -> bytes:
    """The signature that PLAIN describes."""
    return b"sha256=" + mac(secret, body).hex().encode()


def full(*, at_s: int = NOW_S, delivery_id: bytes = b"d1") -> Delivery:
    """A delivery that FULL describes."""
    signed = b"v0:%d:%s:%s" % (at_s, delivery_id, BODY)
    signature = b64encode(mac(TEXT_SECRET, signed, "sha512"))
    headers = [
        (b"x-signature", signature),
        (b"x-time", b"%d" % at_s),
        (b"x-id", delivery_id),
        JSON,
    ]
    return Delivery(headers, BODY)


def test_known_vector_is_accepted() -> None:
    """RFC 4231's second case: the figures are not ours."""
    description = Hmac(signature_header="s", key_encoding="hex")
    body = b"what do ya want for nothing?"
    signature = b"5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    key = b"Jefe".hex() + "00" * 4  # a key is padded with zero bytes to the block

    assert judged(verifier(description, key), Delivery([(b"s", signature)], body)) == ""


@pytest.mark.parametrize(
    "header",
    [
        plain(),
        b"sha256=00, " + plain(),
        plain(secret=OTHER_SECRET) + b" " + plain(),
        plain() + b",sha1=00",
        b"sha256=" + plain().removeprefix(b"sha256=").upper(),
    ],
    ids=["one", "joined", "spaced", "another", "upper case"],
)
def test_one_good_signature_among_others_is_enough(header: bytes) -> None:
    """During a rotation a sender signs with each of its keys."""
    given = Delivery([(b"x-signature", header)], BODY)

    assert judged(verifier(PLAIN), given) == ""


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        (b"", Reason.SIGNATURE_MISSING),
        (plain().removeprefix(b"sha256="), Reason.SIGNATURE_WRONG),
        (plain(b"other"), Reason.SIGNATURE_WRONG),
        (plain(secret=OTHER_SECRET), Reason.SIGNATURE_WRONG),
        (plain()[:-1], Reason.SIGNATURE_WRONG),
        (b"sha256=", Reason.SIGNATURE_WRONG),
        (b"sha256=\xff", Reason.SIGNATURE_WRONG),
        (plain() * 40, Reason.SIGNATURE_MALFORMED),
    ],
)
def test_anything_but_the_described_signature_is_refused(header: bytes, reason: str) -> None:
    """What the description does not name does not count."""
    assert judged(verifier(PLAIN), Delivery([(b"x-signature", header)], BODY)) == reason


def test_everything_described_is_signed_and_the_id_is_known() -> None:
    """An id that the signature covers may be the event's."""
    assert judged(verifier(FULL), full()) == "d1"


@pytest.mark.parametrize("name", [b"x-time", b"x-id", b"x-signature"])
def test_described_header_that_is_missing_or_changed_is_refused(name: bytes) -> None:
    """Otherwise leaving one out would be a way around it."""
    headers = dict(full().headers)
    without = [each for each in full().headers if each[0] != name]
    changed = [*without, (name, headers[name] + b"0")]

    assert judged(verifier(FULL), Delivery(without, BODY)) == Reason.SIGNATURE_MISSING
    assert judged(verifier(FULL), Delivery(changed, BODY)) in {
        Reason.SIGNATURE_WRONG,
        Reason.SIGNATURE_TOO_NEW,
    }


@pytest.mark.parametrize("delivery_id", [b"\xff", b"x" * 257])
def test_id_that_is_no_short_text_is_refused(delivery_id: bytes) -> None:
    """It goes into keys and headers."""
    assert judged(verifier(FULL), full(delivery_id=delivery_id)) == Reason.SIGNATURE_MALFORMED


@pytest.mark.parametrize(
    ("age_s", "max_age_s", "outcome"),
    [
        (301, 300, Reason.SIGNATURE_TOO_OLD),
        (300, 300, "d1"),
        (-300, 300, "d1"),
        (-301, 3600, Reason.SIGNATURE_TOO_NEW),
        (3600, 3600, "d1"),
        (3601, 3600, Reason.SIGNATURE_TOO_OLD),
    ],
)
def test_past_may_be_longer_where_the_source_says_so(
    age_s: int, max_age_s: int, outcome: str
) -> None:
    """A sender that does not sign anew for a retry is told by max_age_s, never the future."""
    given = full(at_s=NOW_S - age_s)

    assert judged(verifier(FULL, max_age_s=max_age_s), given) == outcome


@pytest.mark.parametrize(
    ("encoding", "secret"),
    [("text", "short"), ("hex", "zz"), ("hex", "00"), ("base64", "!!"), ("base64", "YQ==")],
)
def test_secret_that_is_not_as_described_is_refused(encoding: str, secret: str) -> None:
    """Decoded leniently it would be another key."""
    description = Hmac(signature_header="s", key_encoding=encoding)  # type: ignore[arg-type]

    with pytest.raises(BadSecret) as refused:
        verifier(description, secret)

    assert "zz" not in str(refused.value)


def test_source_says_how_it_signs_in_the_file() -> None:
    """No code is needed for a gateway of one's own."""
    lines = (
        "[sources.a.hmac]",
        'signature_header = "X-Gateway-Signature"',
        'encoding = "base64"',
        'key_encoding = "base64"',
    )
    key = b"0123456789abcdef"
    door = LocalDoor(a_source("agentmail", "hmac", *lines), {"SECRET": b64encode(key).decode()})
    signature = b64encode(hmac.digest(key, an_event(), "sha256"))

    reply = handed(door, Delivery([(b"x-gateway-signature", signature), JSON], an_event()))

    assert (reply.status, [each.key for each in door.log.records]) == (204, [b"a/evt_1"])
