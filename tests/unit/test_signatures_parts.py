"""A body that is verified in parts is judged like the same body whole."""

import pytest

from ingest.signatures import PartsVerifier, SignatureRejected, Verifier
from ingest.signatures.svix import SvixVerifier
from tests.doors import NOW_S, SECRET_A, SECRET_B, HeaderList, signed

BODY = '{"text":"é"}'.encode()


def outcome(headers: HeaderList, *parts: bytes, secrets: tuple[str, ...]) -> tuple[str, str]:
    """What the two ways say of these parts, or why not."""
    verifier = SvixVerifier(secrets)
    assert isinstance(verifier, PartsVerifier)
    return whole(verifier, headers, b"".join(parts)), in_parts(verifier, headers, parts)


def whole(verifier: Verifier, headers: HeaderList, body: bytes) -> str:
    """What it says of the whole."""
    try:
        return verifier.verify(dict(headers), body, now_s=NOW_S)
    except SignatureRejected as error:
        return str(error.reason)


def in_parts(verifier: PartsVerifier, headers: HeaderList, parts: tuple[bytes, ...]) -> str:
    """What it says of the parts."""
    try:
        return verifier.verify_parts(dict(headers), iter(parts), now_s=NOW_S)
    except SignatureRejected as error:
        return str(error.reason)


@pytest.mark.parametrize("at", range(len(BODY)))
def test_parts_are_verified_wherever_they_are_cut(at: int) -> None:
    """A large body comes as the network cuts it, in the middle of a character too."""
    given = outcome(
        signed(BODY, secret=SECRET_B), BODY[:at], BODY[at:], secrets=(SECRET_A, SECRET_B)
    )

    assert given == ("msg_1", "msg_1")


@pytest.mark.parametrize(
    ("headers", "reason"),
    [
        (signed(BODY, secret=SECRET_B), "signature-wrong"),
        (signed(BODY + b" "), "signature-wrong"),
        (signed(BODY, at_s=NOW_S - 301), "signature-too-old"),
        (signed(BODY, at_s=NOW_S + 301), "signature-too-new"),
        (signed(BODY)[:2], "signature-missing"),
        (signed(BODY, delivery_id="x" * 257), "signature-malformed"),
        ([*signed(BODY)[:2], (b"svix-signature", b"v1," * 1000)], "signature-malformed"),
    ],
)
def test_parts_are_refused_for_the_same_reason(headers: HeaderList, reason: str) -> None:
    """A forger must not get further with a longer body."""
    assert outcome(headers, BODY, secrets=(SECRET_A,)) == (reason, reason)
