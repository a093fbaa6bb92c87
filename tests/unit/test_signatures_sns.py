import json
from base64 import b64encode
from typing import Any

import pytest

from ingest.answers import Reason
from ingest.signatures import SignatureRejected
from ingest.signatures.sns import SnsVerifier
from tests.amazon import (
    CERTIFICATE_URL,
    CONFIRM_URL,
    MESSAGE_ID,
    OTHER_TOPIC,
    TOPIC,
    Amazon,
    a_door,
    answered,
    ses_mail,
    sns,
    taught,
)
from tests.doors import NOW_S
from tests.senders import handed, judged


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
    door = a_door(amazon)
    handed(door, sns(amazon.says()))

    amazon.is_away = True
    first = handed(door, sns(amazon.confirmation())).status
    amazon.is_away = False

    assert (first, handed(door, sns(amazon.confirmation())).status) == (503, 200)
    assert len(door.log.records) == 2


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
