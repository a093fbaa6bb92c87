from base64 import b64encode

import pytest

from ingest.answers import Reason
from ingest.signatures import BadSecret
from ingest.signatures.basic import BasicVerifier
from tests.doors import LocalDoor
from tests.senders import (
    JSON,
    LOGIN,
    PATH_SECRET,
    Delivery,
    a_source,
    basic,
    handed,
    judged,
    postmark_mail,
)

OTHER_LOGIN = "postmark:another long password"
SOURCE = a_source("postmark", "basic", 'path_secrets = ["PATH_SECRET"]')
ENVIRON = {"SECRET": LOGIN, "PATH_SECRET": PATH_SECRET}


@pytest.mark.parametrize("login", [LOGIN, OTHER_LOGIN])
def test_either_login_of_a_rotation_is_accepted(login: str) -> None:
    """The webhook's address is changed while deliveries flow."""
    assert judged(BasicVerifier([LOGIN, OTHER_LOGIN], []), basic(b"{}", login=login)) == ""


@pytest.mark.parametrize(
    "header",
    [
        b"Basic cG9zdG1hcms6Y29ycmVjdCBob3JzZSBiYXR0ZXJ5",
        b"bAsIc  cG9zdG1hcms6Y29ycmVjdCBob3JzZSBiYXR0ZXJ5",
    ],
)
def test_login_is_read_as_the_standard_writes_it(header: bytes) -> None:
    """RFC 7617 2: the scheme's name is caseless. The figures were encoded by another program."""
    assert judged(BasicVerifier([LOGIN], []), Delivery([(b"authorization", header)], b"")) == ""


def test_colon_may_stand_in_a_password() -> None:
    """RFC 7617 2: the first one ends the name."""
    login = "a:b:" + "c" * 16

    assert judged(BasicVerifier([login], []), basic(b"", login=login)) == ""


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        (b"", Reason.SIGNATURE_MISSING),
        (b"Bearer x", Reason.SIGNATURE_MALFORMED),
        (b"Basic", Reason.SIGNATURE_WRONG),
        (b"Basic !!", Reason.SIGNATURE_MALFORMED),
        (b"Basic " + b64encode(LOGIN.encode()).rstrip(b"=") + b"===", Reason.SIGNATURE_MALFORMED),
        (b"Basic " + b64encode(LOGIN.upper().encode()), Reason.SIGNATURE_WRONG),
        (b"Basic " + b64encode(b"\xff\xfe"), Reason.SIGNATURE_WRONG),
    ],
)
def test_other_logins_are_refused(header: bytes, reason: str) -> None:
    """One login, in one spelling."""
    given = Delivery([(b"authorization", header), JSON], b"{}")

    assert judged(BasicVerifier([LOGIN], []), given) == reason


@pytest.mark.parametrize("secret", ["", "no-colon-anywhere-in-it", "user:short"])
def test_login_that_is_guessable_is_refused(secret: str) -> None:
    """Nothing else stands between a stranger and the log."""
    with pytest.raises(BadSecret):
        BasicVerifier([secret], [])


@pytest.mark.parametrize("secret", ["", "short", "with/slash/" + "x" * 16, "ümlaut" + "x" * 16])
def test_path_that_no_path_can_carry_is_refused(secret: str) -> None:
    """It would never match, in silence."""
    with pytest.raises(BadSecret):
        BasicVerifier([], [secret])


@pytest.mark.parametrize(
    ("path", "login", "answer"),
    [
        (f"/webhooks/a/{PATH_SECRET}", LOGIN, None),
        (f"/webhooks/a/{PATH_SECRET}x", LOGIN, "signature-wrong"),
        (f"/webhooks/a/{PATH_SECRET}", OTHER_LOGIN, "signature-wrong"),
        ("/webhooks/a", LOGIN, "unknown-source"),
        (f"/webhooks/a/{PATH_SECRET}/", LOGIN, "unknown-source"),
    ],
)
def test_both_login_and_path_count(path: str, login: str, answer: str | None) -> None:
    """Two secrets, of which one may end in somebody's logs."""
    door = LocalDoor(SOURCE, ENVIRON)

    reply = handed(door, basic(postmark_mail(), login=login, path=path))

    assert reply.reason == answer


def test_source_without_a_secret_path_is_at_no_other() -> None:
    """A path with something behind it leads nowhere."""
    door = LocalDoor(a_source("postmark", "basic"), {"SECRET": LOGIN})

    assert handed(door, basic(postmark_mail(), path="/webhooks/a/x")).status == 404


def test_header_cannot_stand_in_for_the_path() -> None:
    """What is secret in a path is taken from the path alone."""
    door = LocalDoor(SOURCE, ENVIRON)
    given = basic(postmark_mail(), path="/webhooks/a/other")
    headers = [*given.headers, (b":path-secret", PATH_SECRET.encode())]

    assert handed(door, given._replace(headers=headers)).reason == "signature-wrong"


def test_postmark_is_answered_200_and_its_record_says_that_nothing_is_proven() -> None:
    """Postmark takes no other status for success, and readers must know what they trust."""
    door = LocalDoor(SOURCE, ENVIRON)

    reply = handed(door, basic(postmark_mail(), path=f"/webhooks/a/{PATH_SECRET}"))

    (record,) = door.log.records
    assert reply.status == 200
    assert record.key == b"a/00000000-0000-4000-8000-000000000002"
    assert dict(record.headers)["onereply-proof"] == b"neither"
    assert PATH_SECRET.encode() not in b"".join(value or b"" for _, value in record.headers)
