import time
from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from svix.webhooks import Webhook, WebhookVerificationError

from ingest.answers import Reason
from ingest.signatures import BadSecret, SignatureRejected
from ingest.signatures.svix import SvixVerifier, key_in
from tests.doors import NOW_S, SECRET_A, SECRET_B, UNHURRIED, signature, signed

BODY = b'{"type":"event","event_type":"message.received","event_id":"evt_1"}'
GOOD = signature(BODY)
UNKNOWN = b"v1a,AAAA"


def judged(
    headers: dict[bytes, bytes], body: bytes = BODY, *secrets: str, now_s: float = NOW_S
) -> str:
    """The delivery's id, or the reason of the refusal."""
    try:
        return SvixVerifier(secrets or [SECRET_A]).verify(headers, body, now_s=now_s)
    except SignatureRejected as error:
        return str(error.reason)


def genuine(**changes: bytes) -> dict[bytes, bytes]:
    """Good svix-* headers, with these differences."""
    headers = dict(signed(BODY))
    return headers | {f"svix-{name}".encode(): value for name, value in changes.items()}


def test_published_vector_is_accepted() -> None:
    """A vector from elsewhere keeps the verifier and this file from being wrong together."""
    headers = {
        b"svix-id": b"msg_test1",
        b"svix-timestamp": b"1764500000",
        b"svix-signature": b"v1,Hz4SAgOyqsXOlMZksYH56TBkqAyxyyHEOF4gfsqH2YI=",
    }
    secret = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

    assert judged(headers, BODY, secret, now_s=1764500000.5) == "msg_test1"


@pytest.mark.parametrize("prefix", ["svix", "webhook"])
def test_either_whole_set_is_accepted(prefix: str) -> None:
    """Svix signs under one name, Standard Webhooks under the other."""
    assert judged(dict(signed(BODY, prefix=prefix))) == "msg_1"


@pytest.mark.parametrize("stranger", [b"id", b"timestamp", b"signature"])
def test_mixed_set_is_refused(stranger: bytes) -> None:
    """Headers of two names in one set were put together by nobody who signs."""
    headers = genuine()
    headers[b"webhook-" + stranger] = headers.pop(b"svix-" + stranger)

    assert judged(headers) == Reason.SIGNATURE_MISSING


@pytest.mark.parametrize(
    "signatures",
    [
        GOOD + b" " + UNKNOWN,
        UNKNOWN + b" " + GOOD,
        b"v1,bm90IHRoaXM= " + GOOD,
        b"  " + GOOD + b"  ",
        UNKNOWN + b"\t" + GOOD,
        b"nonsense " + GOOD,
        b"v1 " + GOOD,
        b"\xc3\xa9\xff " + GOOD,
    ],
)
def test_one_good_signature_among_others_is_enough(signatures: bytes) -> None:
    """During a rotation a sender signs with each of its keys, and future versions may stand by."""
    assert judged(genuine(signature=signatures)) == "msg_1"


@pytest.mark.parametrize(
    "signatures",
    [
        b"v0" + GOOD[2:],
        b"v1a" + GOOD[2:],
        GOOD[3:],
        GOOD + b"=",
        GOOD[:-1],
        GOOD[:5] + b"\n" + GOOD[5:],
        b"v1,",
        b"v1",
        b",,, ,",
        b"v1,====",
        "v1,é".encode(),
        GOOD + b"," + GOOD,
    ],
)
def test_anything_but_the_exact_signature_is_refused(signatures: bytes) -> None:
    """A lenient decoder would accept other texts for the same signature."""
    assert judged(genuine(signature=signatures)) == Reason.SIGNATURE_WRONG


@pytest.mark.parametrize(
    "timestamp",
    [b"abc", b"NaN", b"-1", b"1e9", b"1767607200.0", b" 1767607200", b"01767607200", b"1" * 13],
)
def test_time_is_whole_seconds_and_nothing_else(timestamp: bytes) -> None:
    """A parser that takes more would let a time mean another than the one that was signed."""
    assert judged(genuine(timestamp=timestamp)) == Reason.SIGNATURE_MALFORMED


@pytest.mark.parametrize(
    ("age_s", "outcome"),
    [
        (301, Reason.SIGNATURE_TOO_OLD),
        (300, "msg_1"),
        (0, "msg_1"),
        (-300, "msg_1"),
        (-301, Reason.SIGNATURE_TOO_NEW),
    ],
)
def test_time_may_be_off_by_five_minutes_either_way(age_s: int, outcome: str) -> None:
    """An old capture is no proof, and neither is one from the future."""
    assert judged(dict(signed(BODY, at_s=NOW_S - age_s))) == outcome


@pytest.mark.parametrize("missing", [b"svix-id", b"svix-timestamp", b"svix-signature"])
def test_incomplete_set_is_refused(missing: bytes) -> None:
    """An empty header is as good as none."""
    assert judged(genuine() | {missing: b""}) == Reason.SIGNATURE_MISSING


@pytest.mark.parametrize(
    "changes",
    [{"id": b"x" * 257}, {"signature": b" ".join([GOOD] * 50)}],
    ids=["id", "signature"],
)
def test_oversized_header_is_refused_unread(changes: dict[str, bytes]) -> None:
    """Work before the proof is bounded, whatever a stranger sends."""
    assert judged(genuine(**changes)) == Reason.SIGNATURE_MALFORMED


def test_either_secret_of_a_rotation_is_accepted() -> None:
    """For a while deliveries come that were signed with the old key, and some with the new one."""
    for secret in (SECRET_A, SECRET_B):
        assert judged(dict(signed(BODY, secret=secret)), BODY, SECRET_A, SECRET_B) == "msg_1"


@pytest.mark.parametrize(
    "secret",
    [
        "whsec_MDEyMzQ1Njc4OWFiY2RlZmdoaWprbG1ub3BxcnM=",
        "whsec_MDEyMzQ1Njc4OWFiY2RlZmdoaWprbG1ub3BxcnM",
        "MDEyMzQ1Njc4OWFiY2RlZmdoaWprbG1ub3BxcnM=",
        " whsec_MDEyMzQ1Njc4OWFiY2RlZmdoaWprbG1ub3BxcnM=\n",
    ],
)
def test_secret_is_read_with_or_without_prefix_padding_and_outer_space(secret: str) -> None:
    """Web pages and files hand it over in each of these ways."""
    assert key_in(secret) == b"0123456789abcdefghijklmnopqrs"


@pytest.mark.parametrize(
    "secret",
    [
        "",
        "whsec_",
        "whsec_!!!!",
        "whsec_YQ==",
        "v1,whsec_c3ludGhldGljLWtleS1BLTAxMjM0NTY3ODlhYmNkZWY=",
        "whsec_" + "A" * 31,
        "whsec_" + "-_" * 20,
        "whsec_c3lud GhldGljLWtleS1BLTAxMjM0NTY3ODlhYmNkZWY=",
        "whsec_é" + "A" * 40,
        "whsec_" + "A" * 45,
    ],
)
def test_text_that_is_no_whole_key_is_refused(secret: str) -> None:
    """Decoded leniently it would be another key, even an empty one that anybody can sign with."""
    with pytest.raises(BadSecret):
        key_in(secret)


def test_refusal_of_a_secret_does_not_repeat_it() -> None:
    """What a start-up prints ends in logs."""
    with pytest.raises(BadSecret) as refused:
        key_in("whsec_almostASecret!")

    assert "almostASecret" not in str(refused.value)


keys = st.binary(min_size=24, max_size=64)
ids = st.text(st.characters(codec="utf-8"), min_size=1, max_size=60)
texts = st.text(st.characters(codec="utf-8"), max_size=200)


@UNHURRIED
@given(key=keys, delivery_id=ids, body=texts)
def test_what_the_svix_library_accepts_is_accepted(key: bytes, delivery_id: str, body: str) -> None:
    """The library is the reference: a genuine delivery that it takes must not be lost here."""
    secret, now_s = "whsec_" + b64encode(key).decode(), int(time.time())
    data = body.encode()
    headers = dict(signed(data, secret=secret, delivery_id=delivery_id, at_s=now_s))

    Webhook(secret).verify(data, {name.decode(): value.decode() for name, value in headers.items()})

    assert judged(headers, data, secret, now_s=now_s) == delivery_id


@UNHURRIED
@given(key=keys, body=texts, junk=st.text(st.characters(codec="utf-8"), max_size=60))
def test_what_the_svix_library_refuses_is_refused(key: bytes, body: str, junk: str) -> None:
    """The door may be stricter than the library, never laxer."""
    secret, now_s = "whsec_" + b64encode(key).decode(), int(time.time())
    data = body.encode()
    headers = dict(signed(data, secret=secret, at_s=now_s))
    headers[b"svix-signature"] = junk.encode() or b" "

    with pytest.raises((WebhookVerificationError, ValueError)):
        Webhook(secret).verify(
            data, {name.decode(): value.decode() for name, value in headers.items()}
        )

    assert judged(headers, data, secret, now_s=now_s) == Reason.SIGNATURE_WRONG


hostile = st.one_of(st.binary(max_size=80), st.sampled_from([GOOD, b"1767607200", b"msg_1"]))


@UNHURRIED
@given(
    headers=st.dictionaries(
        st.sampled_from(
            list(genuine()) + [name.replace(b"svix", b"webhook") for name in genuine()]
        ),
        hostile,
    ),
    body=st.one_of(st.binary(max_size=80), st.just(BODY)),
)
def test_hostile_headers_end_in_a_refusal_and_nothing_else(
    headers: dict[bytes, bytes], body: bytes
) -> None:
    """The library alone raises four other errors on such headers, each of them a 500."""
    assert judged(headers, body) in {*Reason, "msg_1"}
