from base64 import b64encode

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ingest.answers import Reason
from ingest.signatures import BadSecret
from ingest.signatures.svix import SvixVerifier
from tests import senders
from tests.doors import NOW_S, SECRET_A, signature, signed
from tests.senders import Delivery

BODY = b'{"type":"event","event_type":"message.received","event_id":"evt_1"}'
GOOD = signature(BODY)


def judged(headers: dict[bytes, bytes], body: bytes, *secrets: str) -> str:
    """The delivery's id, or the reason of the refusal."""
    return senders.judged(SvixVerifier(secrets), Delivery(list(headers.items()), body))


def genuine(**changes: bytes) -> dict[bytes, bytes]:
    """Good svix-* headers, with these differences."""
    headers = dict(signed(BODY))
    return headers | {f"svix-{name}".encode(): value for name, value in changes.items()}


PRIVATE_KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
PUBLIC_KEY = "whpk_" + b64encode(PRIVATE_KEY.public_key().public_bytes_raw()).decode()


def ed25519(body: bytes = BODY, *, key: Ed25519PrivateKey = PRIVATE_KEY) -> bytes:
    """The v1a signature, computed here apart from the product's way."""
    return b"v1a," + b64encode(key.sign(b"msg_1.%d." % NOW_S + body))


def test_known_vector_of_v1a_is_accepted() -> None:
    """RFC 8032 7.1, test 1's key: the public half is the standard's, not ours."""
    private = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
    public = bytes.fromhex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
    signature = ed25519(key=Ed25519PrivateKey.from_private_bytes(private))

    assert judged(genuine(signature=signature), BODY, "whpk_" + b64encode(public).decode()) == (
        "msg_1"
    )


@pytest.mark.parametrize("prefix", ["svix", "webhook"])
def test_asymmetric_signature_is_accepted_in_either_set(prefix: str) -> None:
    """Standard Webhooks' second version: the secret here is a public key."""
    headers = dict(signed(BODY, prefix=prefix)) | {f"{prefix}-signature".encode(): ed25519()}

    assert judged(headers, BODY, PUBLIC_KEY) == "msg_1"


@pytest.mark.parametrize(
    "signatures",
    [
        GOOD,
        b"v1" + ed25519()[3:],
        ed25519()[4:],
        ed25519(BODY + b" "),
        ed25519()[:-2],
        ed25519() + b"=",
        b"v1a,",
        b"v1a,\xff",
        ed25519(key=Ed25519PrivateKey.from_private_bytes(bytes(32))),
    ],
)
def test_anything_but_the_exact_v1a_signature_is_refused(signatures: bytes) -> None:
    """A version counts under its own label only."""
    assert judged(genuine(signature=signatures), BODY, PUBLIC_KEY) == Reason.SIGNATURE_WRONG


def test_either_version_is_accepted_while_one_replaces_the_other() -> None:
    """Both keys stand in the file then."""
    for signatures in (GOOD, ed25519(), b"v1,AAAA " + ed25519(), b"v1a,AAAA " + GOOD):
        assert judged(genuine(signature=signatures), BODY, SECRET_A, PUBLIC_KEY) == "msg_1"


def test_body_that_is_no_text_can_be_signed_with_v1a() -> None:
    """What it is then is the parser's to say."""
    assert judged(genuine(signature=ed25519(b"\xff")), b"\xff", PUBLIC_KEY) == "msg_1"


@pytest.mark.parametrize(
    "secret",
    [
        PUBLIC_KEY.replace("whpk_", "whsk_"),
        "whpk_",
        "whpk_AAAA",
        PUBLIC_KEY[:-5],
        "whpk_é" + "A" * 42,
    ],
)
def test_text_that_is_no_public_key_is_refused(secret: str) -> None:
    """Least of all the private one: it is the sender's alone."""
    with pytest.raises(BadSecret):
        SvixVerifier([secret])


def test_public_key_is_read_without_padding_and_with_outer_space() -> None:
    """Web pages and files hand it over in each of these ways."""
    assert judged(genuine(signature=ed25519()), BODY, f" {PUBLIC_KEY.rstrip('=')}\n") == "msg_1"
