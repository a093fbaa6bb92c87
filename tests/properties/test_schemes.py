"""Whatever comes to whichever scheme, the door answers with a status that senders understand."""

from base64 import b64encode
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ingest.forms import MULTIPART, Kind, fields_in
from ingest.signatures import SCHEMES, Errand, Held, Proves, SignatureRejected
from schemas.directory import parse_directory
from tests.amazon import SOURCE, Amazon, sns
from tests.doors import NOW_S, SECRET_A, UNHURRIED, LocalDoor, signed
from tests.payloads import an_event
from tests.senders import (
    LOGIN,
    PATH_SECRET,
    TEXT_SECRET,
    Delivery,
    a_source,
    agentdraft,
    basic,
    handed,
    hookdeck,
    mac,
    mailgun,
    mailgun_fields,
    multipart,
    postmark_mail,
    sendgrid,
    sendgrid_fields,
    sendgrid_key,
    spki,
)

ANSWERS = {200, 204, 400, 413, 415, 431}
HMAC_LINES = (
    "[sources.a.hmac]",
    'signature_header = "x-mac"',
    'timestamp_header = "x-time"',
    'signed = "{timestamp}.{body}"',
)


class Case(NamedTuple):
    """A source, what its variables hold, and how a body is delivered to it in good faith."""

    directory: str
    environ: dict[str, str]
    genuine: Callable[[bytes], Delivery]
    body: bytes = b'{"event_type":"x","type":"x","event_id":"e","id":"e"}'


def by_svix(body: bytes) -> Delivery:
    """A delivery signed like Svix."""
    return Delivery(signed(body), body)


def by_hmac(body: bytes) -> Delivery:
    """A delivery that HMAC_LINES describe."""
    signature = mac(TEXT_SECRET, b"%d." % NOW_S + body).hex().encode()
    return Delivery([(b"x-mac", signature), (b"x-time", b"%d" % NOW_S)], body)


def by_mailgun(body: bytes) -> Delivery:
    """A delivery with a good token and this text in its mail."""
    text = body.decode("latin-1")
    return mailgun(mailgun_fields() | {"body-plain": text, "stripped-text": text})


def by_amazon(body: bytes) -> Delivery:
    """A delivery of this text as SNS's message."""
    return sns(Amazon().says(Message=body.decode("latin-1").replace("\x00", "")))


ENVIRON = {"SECRET": TEXT_SECRET}
CASES = {
    "svix": Case(a_source("agentmail", "svix"), {"SECRET": SECRET_A}, by_svix),
    "agentdraft": Case(a_source("agentdraft", "agentdraft"), ENVIRON, agentdraft),
    "hookdeck": Case(a_source("agentmail", "hookdeck"), ENVIRON, hookdeck, an_event()),
    "hmac": Case(a_source("agentmail", "hmac", *HMAC_LINES), ENVIRON, by_hmac, an_event()),
    "sns": Case(SOURCE, {}, by_amazon, b"Hello"),
    "mailgun": Case(a_source("mailgun", "mailgun"), ENVIRON, by_mailgun),
    "sendgrid": Case(
        a_source("sendgrid", "sendgrid"),
        {"SECRET": spki(sendgrid_key())},
        sendgrid,
        multipart(sendgrid_fields()),
    ),
    "basic": Case(
        a_source("postmark", "basic", 'path_secrets = ["PATH"]'),
        {"SECRET": LOGIN, "PATH": PATH_SECRET},
        lambda body: basic(body, path=f"/webhooks/a/{PATH_SECRET}"),
        postmark_mail(),
    ),
}

schemes = pytest.mark.parametrize("scheme", CASES)
FEW = settings(UNHURRIED, max_examples=60)


@cache
def a_door(scheme: str) -> LocalDoor:
    """One door a scheme: nothing that comes may change what the next one is answered."""
    case = CASES[scheme]
    return LocalDoor(case.directory, case.environ, fetch=Amazon().fetch)


@schemes
def test_genuine_delivery_is_kept(scheme: str) -> None:
    """Else the rest of this page would hold for a door that refuses everybody."""
    case = CASES[scheme]

    assert handed(a_door(scheme), case.genuine(case.body)).status in {200, 204}


def test_every_scheme_has_a_case_here() -> None:
    """A new one must not be forgotten."""
    assert set(CASES) == set(SCHEMES)


odd_values = st.one_of(
    st.binary(max_size=40),
    st.sampled_from(
        [
            b"%d" % NOW_S,
            b"t=%d,v1=" % NOW_S,
            b"Basic " + b64encode(LOGIN.encode()),
            b"v1,AAAA",
            b"multipart/form-data; boundary=xYz",
            b"application/x-www-form-urlencoded",
            b"application/json",
            b"text/plain",
            b"nan",
            "é".encode(),
        ]
    ),
)


@schemes
@FEW
@given(data=st.data())
def test_any_headers_on_a_good_body_end_in_an_answer(scheme: str, data: st.DataObject) -> None:
    """A 500 would be sent again for a day, and says that the door has a hole."""
    case = CASES[scheme]
    delivery = case.genuine(case.body)
    names = st.sampled_from([*(name for name, _ in delivery.headers), b"content-length", b"x"])
    headers = data.draw(st.lists(st.tuples(names, odd_values), max_size=5))
    kept = [each for each in delivery.headers if data.draw(st.booleans(), label=str(each[0]))]

    reply = handed(a_door(scheme), delivery._replace(headers=[*kept, *headers]))

    assert reply.status in ANSWERS


@schemes
@FEW
@given(body=st.binary(max_size=120), kind=odd_values)
def test_any_body_under_a_good_signature_ends_in_an_answer(
    scheme: str, body: bytes, kind: bytes
) -> None:
    """A sender's bug is the sender's 400, whatever it says that its body is."""
    delivery = CASES[scheme].genuine(body)
    headers = [each for each in delivery.headers if each[0] != b"content-type"]

    replies = [
        handed(a_door(scheme), each)
        for each in (delivery, delivery._replace(headers=[*headers, (b"content-type", kind)]))
    ]

    assert {reply.status for reply in replies} <= ANSWERS


@schemes
@FEW
@given(data=st.data())
def test_any_change_to_what_is_proven_is_noticed(scheme: str, data: st.DataObject) -> None:
    """Where the record says that the body is proven, another body is refused."""
    case = CASES[scheme]
    delivery = case.genuine(case.body)
    at = data.draw(st.integers(0, len(delivery.body) - 1))
    bit = 1 << data.draw(st.integers(0, 7))
    changed = delivery.body[:at] + bytes([delivery.body[at] ^ bit]) + delivery.body[at + 1 :]
    door = a_door(scheme)
    before = len(door.log.records)

    reply = handed(door, delivery._replace(body=changed))

    assert reply.status in ANSWERS
    if SCHEMES[scheme].proves == Proves.BODY:
        assert (reply.status, len(door.log.records)) == (400, before)


@schemes
@FEW
@given(
    headers=st.dictionaries(st.sampled_from([b"content-type", b"authorization"]), odd_values),
    body=st.binary(max_size=120) | st.text(max_size=60).map(str.encode),
)
def test_only_its_own_errors_leave_a_scheme(
    scheme: str, headers: dict[bytes, bytes], body: bytes
) -> None:
    """Whoever adds a caller need not know what is inside."""
    case = CASES[scheme]
    source = parse_directory(case.directory).sources["a"]
    held = Held(
        secrets=[case.environ[name] for name in source.secrets],
        paths=[case.environ[name] for name in source.path_secrets],
    )
    verifier = SCHEMES[scheme].verifier(held, source)
    given = dict(case.genuine(case.body).headers) | headers

    with pytest.raises((SignatureRejected, Errand)):
        verifier.verify(given, body + b"\xff", now_s=NOW_S)


@FEW
@given(
    fields=st.dictionaries(
        st.sampled_from(["a", "b", "c"]), st.text(st.characters(codec="utf-8"), max_size=40)
    ),
    file=st.binary(max_size=200),
)
def test_fields_are_what_was_sent(fields: dict[str, str], file: bytes) -> None:
    """A parser that is off by a byte changes ids."""
    assume(b"--xYz" not in file and not any("--xYz" in value for value in fields.values()))
    body = multipart(fields, file=file)

    found = fields_in(body, Kind(MULTIPART, b"xYz"), frozenset({"a", "b"}))

    assert found == {name: value.encode() for name, value in fields.items() if name != "c"}
