"""Signing as Svix does, against a vector that another library has verified."""

from datetime import UTC, datetime

import pytest
from svix.webhooks import Webhook

from ops.standin.signing import secret_of, signed_headers

SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
BODY = b'{"type":"event","event_type":"message.received","event_id":"evt_1"}'


def test_known_bytes_have_the_known_signature() -> None:
    """The vector of providers.md 2.1."""
    headers = signed_headers(SECRET, "msg_test1", timestamp=1764500000, body=BODY)

    assert headers == {
        "svix-id": "msg_test1",
        "svix-timestamp": "1764500000",
        "svix-signature": "v1,Hz4SAgOyqsXOlMZksYH56TBkqAyxyyHEOF4gfsqH2YI=",
    }


def test_bytes_that_are_no_text_are_signed_as_they_are() -> None:
    """A door that is fuzzed needs a good signature over any bytes."""
    whole = signed_headers(SECRET, "msg_1", timestamp=1, body=b"\xff\x00")

    cut = signed_headers(SECRET, "msg_1", timestamp=1, body=b"\xff")

    assert whole["svix-signature"] != cut["svix-signature"]


def test_secret_is_written_as_svix_reads_it() -> None:
    """The secret that a webhook shows must be one that a customer's library takes."""
    assert secret_of(bytes(range(32))) == SECRET
    assert (
        Webhook(SECRET)
        .sign("msg_test1", datetime.fromtimestamp(1764500000, UTC), BODY.decode())
        .startswith("v1,Hz4SAg")
    )


@pytest.mark.parametrize("secret", ["AAECAw==", "whsec_not base64", "whsec_AAE"])
def test_secret_of_another_form_is_an_error(secret: str) -> None:
    """A test that signs with a mistyped secret should say so at once."""
    with pytest.raises(ValueError, match=r"whsec_|base64|character|padding"):
        signed_headers(secret, "msg_1", timestamp=1, body=BODY)
