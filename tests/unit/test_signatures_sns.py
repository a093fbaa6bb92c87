import asyncio
import json
from base64 import b64encode
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding

from ingest.answers import Reason
from ingest.signatures import Errand, SignatureRejected
from ingest.signatures.sns import MAX_CERTIFICATES, SnsVerifier
from tests.doors import NOW_S, LocalDoor
from tests.senders import (
    CERTIFICATE_URL,
    CONFIRM_URL,
    TOPIC,
    Amazon,
    a_source,
    handed,
    judged,
    ses_mail,
    sns,
)

MESSAGE_ID = "00000000-0000-4000-8000-000000000003"
OTHER_TOPIC = TOPIC.replace(":mail", ":other")
SOURCE = a_source("ses", "sns", f'topics = ["{TOPIC}", "{OTHER_TOPIC}"]', secrets="[]")


def a_door(amazon: Amazon) -> LocalDoor:
    """A door for two topics, which fetches from this Amazon."""
    return LocalDoor(SOURCE, fetch=amazon.fetch)


def answered(message: dict[str, Any], amazon: Amazon | None = None) -> str | None:
    """The reason of the refusal, or None."""
    return handed(a_door(amazon or Amazon()), sns(message)).reason


@pytest.mark.parametrize("version", ["1", "2"])
@pytest.mark.parametrize("subject", [None, "Hi"])
def test_both_versions_are_accepted_with_and_without_a_subject(
    version: str, subject: str | None
) -> None:
    """The subject is signed where there is one."""
    assert answered(Amazon().says(version=version, Subject=subject)) is None


@pytest.mark.parametrize(
    "changes",
    [
        {"Message": ses_mail("billing@inbox.example")},
        {"MessageId": "other"},
        {"TopicArn": OTHER_TOPIC},
        {"Subject": "new"},
        {"Timestamp": "2026-01-05T10:00:01.000Z"},
        {"SignatureVersion": "1"},
        {"Signature": b64encode(bytes(256)).decode()},
        {"Signature": "AAAA"},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_any_changed_member_is_noticed(changes: dict[str, str]) -> None:
    """Everything that we read is signed."""
    assert answered(Amazon().says() | changes) == Reason.SIGNATURE_WRONG


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"TopicArn": TOPIC.replace(":mail", ":theirs")}, Reason.SIGNATURE_WRONG),
        ({"TopicArn": 7}, Reason.SIGNATURE_MISSING),
        ({"SignatureVersion": "3"}, Reason.SIGNATURE_MALFORMED),
        ({"Signature": "!!"}, Reason.SIGNATURE_MALFORMED),
        ({"Signature": ""}, Reason.SIGNATURE_MISSING),
        ({"Type": "Other"}, Reason.SIGNATURE_MALFORMED),
        ({"Type": ""}, Reason.SIGNATURE_MISSING),
        ({"Message": 7}, Reason.SIGNATURE_MISSING),
        ({"Timestamp": "now"}, Reason.SIGNATURE_MALFORMED),
        ({"Timestamp": "2026-13-05T10:00:00.000Z"}, Reason.SIGNATURE_MALFORMED),
        ({"Timestamp": "2026-01-05T09:54:59.000Z"}, Reason.SIGNATURE_TOO_OLD),
        ({"Timestamp": "2026-01-05T10:05:01.000Z"}, Reason.SIGNATURE_TOO_NEW),
    ],
    ids=str,
)
def test_anything_else_is_refused_with_its_reason(changes: dict[str, Any], reason: str) -> None:
    """Each of these would be somebody else's message, or nobody's."""
    assert answered(Amazon().says() | changes) == reason


@pytest.mark.parametrize(
    ("timestamp", "max_age_s", "outcome"),
    [
        ("2026-01-05T09:55:00.000Z", 300, MESSAGE_ID),
        ("2026-01-05T10:05:00Z", 300, MESSAGE_ID),
        ("2026-01-05T09:00:00.000Z", 3600, MESSAGE_ID),
        ("2026-01-05T10:05:01.000Z", 3600, Reason.SIGNATURE_TOO_NEW),
    ],
)
def test_past_may_be_longer_where_the_source_says_so(
    timestamp: str, max_age_s: int, outcome: str
) -> None:
    """SNS repeats a message with its first time, and a topic's policy may repeat it for an hour."""
    amazon, verifier = Amazon(), SnsVerifier([TOPIC], max_age_s=max_age_s)
    taught(verifier, amazon)

    assert judged(verifier, sns(amazon.says(Timestamp=timestamp))) == outcome


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
    amazon.pages.clear()

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


def test_subscription_is_confirmed_once_it_is_verified() -> None:
    """SNS sends no mail before somebody has opened the page that it names."""
    amazon = Amazon()
    door = a_door(amazon)

    statuses = [handed(door, sns(amazon.confirmation())).status for _ in range(2)]

    assert statuses == [200, 200]
    assert amazon.asked == [CERTIFICATE_URL, CONFIRM_URL]
    assert {dict(each.headers)["ce_type"] for each in door.log.records} == {
        b"SubscriptionConfirmation"
    }


@pytest.mark.parametrize(
    ("changes", "after", "reason"),
    [
        ({}, {"Token": "other"}, Reason.SIGNATURE_WRONG),
        ({}, {"TopicArn": TOPIC.replace(":mail", ":theirs")}, Reason.SIGNATURE_WRONG),
        ({"SubscribeURL": "https://evil.example/"}, {}, Reason.SIGNATURE_WRONG),
        ({"SubscribeURL": "http://sns.eu-west-1.amazonaws.com/"}, {}, Reason.SIGNATURE_WRONG),
        ({"SubscribeURL": None}, {}, Reason.SIGNATURE_MISSING),
    ],
)
def test_subscription_that_is_not_ours_is_never_confirmed(
    changes: dict[str, Any], after: dict[str, str], reason: str
) -> None:
    """Anybody may ask for one; a confirmed one would fill the log from a stranger's topic."""
    amazon = Amazon()

    assert answered(amazon.confirmation(**changes) | after, amazon) == reason
    assert set(amazon.asked) <= {CERTIFICATE_URL}


def test_confirmation_that_fails_is_asked_for_again() -> None:
    """SNS comes again after a 503, and the subscription is not lost."""
    amazon = Amazon()
    page = amazon.pages.pop(CONFIRM_URL)
    door = a_door(amazon)

    first = handed(door, sns(amazon.confirmation())).status
    amazon.pages[CONFIRM_URL] = page

    assert (first, handed(door, sns(amazon.confirmation())).status) == (503, 200)
    assert len(door.log.records) == 1


def test_end_of_a_subscription_is_kept_and_not_undone() -> None:
    """Opening the page in it would subscribe again, against whoever ended it."""
    amazon = Amazon()

    assert answered(amazon.confirmation(Type="UnsubscribeConfirmation"), amazon) is None
    assert CONFIRM_URL not in amazon.asked


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff", b"{}", b'{"TopicArn":1}'])
def test_body_that_is_no_message_is_refused(body: bytes) -> None:
    """The proof stands in the body, so it is read before anybody is known to have sent it."""
    verifier = SnsVerifier([TOPIC])

    with pytest.raises(SignatureRejected):
        verifier.verify({}, body, now_s=NOW_S)


def test_record_says_that_the_body_is_proven_and_who_it_is_for() -> None:
    """What SES says of the envelope decides, not the mail's own To."""
    amazon = Amazon()
    door = a_door(amazon)
    delivery = sns(amazon.says())

    handed(door, delivery)

    (record,) = door.log.records
    headers = dict(record.headers)
    assert (record.key, record.value) == (b"a/" + MESSAGE_ID.encode(), delivery.body)
    assert (headers["onereply-proof"], headers["ce_type"]) == (b"body", b"Received")
    assert headers["ce_subject"] == b"support@inbox.example"
    assert headers["content-type"] == b"application/json"
    assert json.loads(record.value)["Type"] == "Notification"


def taught(verifier: SnsVerifier, amazon: Amazon, url: str = CERTIFICATE_URL) -> None:
    """Give the verifier the certificate that it asks for."""
    try:
        judged(verifier, sns(amazon.says(SigningCertURL=url)))
    except Errand as errand:
        errand.take(amazon.pages[CERTIFICATE_URL])


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
