import asyncio

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding

from ingest.answers import Reason
from ingest.signatures import Errand
from ingest.signatures.sns import MAX_CERTIFICATES, SnsVerifier
from tests.amazon import (
    CERTIFICATE_URL,
    MESSAGE_ID,
    TOPIC,
    Amazon,
    a_door,
    answered,
    sns,
    taught,
)
from tests.doors import NOW_S
from tests.senders import handed, judged


@pytest.mark.parametrize(
    "url",
    [
        "http://sns.eu-west-1.amazonaws.com/SimpleNotificationService-" + "0" * 32 + ".pem",
        CERTIFICATE_URL.replace("eu-west-1", "us-east-1"),
        CERTIFICATE_URL.replace("amazonaws.com", "amazonaws.com.evil.example"),
        CERTIFICATE_URL.replace("amazonaws.com", "amazonaws.com:444"),
        CERTIFICATE_URL.replace("https://", "https://evil.example@"),
        CERTIFICATE_URL.replace("https://", "https://evil.example\\@"),
        CERTIFICATE_URL.replace("SimpleNotificationService-", "x/../"),
        CERTIFICATE_URL.replace(".pem", ".pem/x"),
        "https://[",
        "file:///etc/passwd",
        "nonsense",
    ],
)
def test_certificate_from_elsewhere_is_never_asked_for(url: str) -> None:
    """Whoever could name the address could name the key; or make us call where only we can."""
    amazon = Amazon()

    assert answered(amazon.says(SigningCertURL=url), amazon) == Reason.SIGNATURE_WRONG
    assert amazon.asked == []


def test_topics_of_china_have_their_certificates_there() -> None:
    """Another partition, another host."""
    topic = "arn:aws-cn:sns:cn-north-1:000000000000:mail"
    url = CERTIFICATE_URL.replace("eu-west-1.amazonaws.com", "cn-north-1.amazonaws.com.cn")

    with pytest.raises(Errand) as errand:
        judged(SnsVerifier([topic]), sns(Amazon().says(TopicArn=topic, SigningCertURL=url)))

    assert errand.value.url == url


def test_certificate_is_fetched_once() -> None:
    """Thousands of mails a second come with the same one."""
    amazon = Amazon()
    door = a_door(amazon)

    for number in range(3):
        assert handed(door, sns(amazon.says(MessageId=str(number)))).status == 200

    assert amazon.asked == [CERTIFICATE_URL]


def test_deliveries_that_come_together_fetch_it_once() -> None:
    """At the start all of them lack it."""
    amazon = Amazon()
    door = a_door(amazon)
    source = door.sources.get("a")
    assert source is not None
    body = sns(amazon.says()).body

    async def together() -> list[str]:
        return await asyncio.gather(
            *(source.verify({}, body, now_s=NOW_S, steady_s=0.0) for _ in range(5))
        )

    assert asyncio.run(together()) == [MESSAGE_ID] * 5
    assert amazon.asked == [CERTIFICATE_URL]


@pytest.mark.parametrize("page", [b"", b"no certificate", b"-----BEGIN CERTIFICATE-----\nx"])
def test_page_that_is_no_certificate_is_a_refusal(page: bytes) -> None:
    """It proves nothing, and is not remembered."""
    amazon = Amazon()
    good = amazon.pages[CERTIFICATE_URL]
    amazon.pages[CERTIFICATE_URL] = page
    door = a_door(amazon)

    first = handed(door, sns(amazon.says())).reason
    amazon.pages[CERTIFICATE_URL] = good

    assert (first, handed(door, sns(amazon.says())).status) == (Reason.SIGNATURE_WRONG, 200)


def test_certificate_that_cannot_be_fetched_is_503() -> None:
    """400 is final at SNS: the mail would be lost for a hitch in the network."""
    amazon = Amazon()
    amazon.is_away = True

    assert handed(a_door(amazon), sns(amazon.says())).status == 503


def test_certificate_that_has_expired_is_refused() -> None:
    """Its key may be anybody's by now."""
    amazon = Amazon(not_after_s=NOW_S - 1)

    assert answered(amazon.says(), amazon) == Reason.SIGNATURE_WRONG


def test_key_of_another_kind_is_refused() -> None:
    """SNS signs with RSA; a key of another kind is another's."""
    amazon = Amazon()
    amazon.pages[CERTIFICATE_URL] = elliptic(amazon.pages[CERTIFICATE_URL])

    assert answered(amazon.says(), amazon) == Reason.SIGNATURE_WRONG


def test_few_certificates_are_kept() -> None:
    """Each rotation brings one; the oldest goes first."""
    amazon, verifier = Amazon(), SnsVerifier([TOPIC])
    urls = [CERTIFICATE_URL.replace("0.pem", f"{number:x}.pem") for number in range(16)]
    urls.append(CERTIFICATE_URL.replace("00.pem", "10.pem"))
    assert len(urls) == MAX_CERTIFICATES + 1
    for url in urls:
        taught(verifier, amazon, url)

    with pytest.raises(Errand):
        judged(verifier, sns(amazon.says(SigningCertURL=urls[0])))
    assert judged(verifier, sns(amazon.says(SigningCertURL=urls[1]))) == MESSAGE_ID


def elliptic(page: bytes) -> bytes:
    """The certificate with a key for ECDSA in the place of its own."""
    old, key = x509.load_pem_x509_certificate(page), generate_private_key(SECP256R1())
    new = (
        x509.CertificateBuilder()
        .subject_name(old.subject)
        .issuer_name(old.issuer)
        .public_key(key.public_key())
        .serial_number(2)
        .not_valid_before(old.not_valid_before_utc)
        .not_valid_after(old.not_valid_after_utc)
        .sign(key, SHA256())
    )
    return new.public_bytes(Encoding.PEM)
