from collections.abc import Callable
from datetime import timedelta

import pytest

from ingest.answers import ANSWERS, Reason, TurnedAway
from schemas.topics import INLINE_LIMIT_BYTES
from tests.amazon import TOPIC, Amazon, sns
from tests.doors import (
    DIRECTORY,
    NOW_S,
    SECRET_A,
    SECRET_B,
    HeaderList,
    LocalDoor,
    Reply,
    arriving,
    never,
    signed,
)
from tests.payloads import a_message, an_event
from tests.senders import (
    TEXT_SECRET,
    a_source,
    mailgun,
    mailgun_fields,
    multipart,
    sendgrid,
    sendgrid_fields,
    sendgrid_key,
    spki,
)


def _unsigned(*headers: tuple[bytes, bytes]) -> HeaderList:
    return [(b"content-type", b"application/json"), *headers]


def _refusing(reason: Reason) -> LocalDoor:
    door = LocalDoor()
    door.log.refuse = TurnedAway(reason)
    return door


def _signed_with(**changes: bytes) -> HeaderList:
    headers = dict(signed(an_event()))
    headers |= {f"svix-{name}".encode(): value for name, value in changes.items()}
    return list(headers.items())


def _too_many() -> Reply:
    door = LocalDoor(DIRECTORY + "rate_per_second = 1\n")
    door.deliver(an_event())
    return door.deliver(an_event())


def _too_slow() -> Reply:
    return LocalDoor(body_deadline=timedelta(milliseconds=1)).ask(never, headers=_unsigned())


def _secret_gone(tmp_path_factory: pytest.TempPathFactory) -> Reply:
    file = tmp_path_factory.mktemp("secret") / "secret"
    file.write_text(SECRET_A)
    door = LocalDoor(environ={"SECRET_FILE": str(file)})
    file.unlink()
    return door.deliver(an_event())


def _token_of_another_mail() -> Reply:
    door = LocalDoor(a_source("mailgun", "mailgun"), {"SECRET": TEXT_SECRET})
    first, other = mailgun(mailgun_fields()), mailgun(mailgun_fields(sender="eve@y.example"))
    door.ask(first.body, path=first.path, headers=first.headers)
    return door.ask(other.body, path=other.path, headers=other.headers)


def _form_cut() -> Reply:
    door = LocalDoor(a_source("sendgrid", "sendgrid"), {"SECRET": spki(sendgrid_key())})
    given = sendgrid(multipart(sendgrid_fields())[:-10])
    return door.ask(given.body, path=given.path, headers=given.headers)


def _no_certificate() -> Reply:
    amazon = Amazon()
    amazon.is_away = True
    text = a_source("ses", "sns", f'topics = ["{TOPIC}"]', secrets="[]")
    given = sns(amazon.says())
    return LocalDoor(text, fetch=amazon.fetch).ask(
        given.body, path=given.path, headers=given.headers
    )


def _blobs_away() -> Reply:
    door = LocalDoor(body_bytes=2 * INLINE_LIMIT_BYTES, blobs="/dev/null/blobs")
    return door.deliver(an_event(message=a_message(text="x" * INLINE_LIMIT_BYTES)))


LATE = signed(an_event(), at_s=NOW_S - 301)
EARLY = signed(an_event(), at_s=NOW_S + 301)
DEEP = b'{"x":' + b"[" * 64 + b"]" * 64 + b"}"

# One way into each row of the table.
WAYS: dict[Reason, Callable[[], Reply]] = {
    Reason.UNKNOWN_SOURCE: lambda: LocalDoor().ask(b"{}", path="/webhooks/nobody"),
    Reason.WRONG_METHOD: lambda: LocalDoor().ask(b"", method="GET"),
    Reason.COMPRESSED: lambda: LocalDoor().ask(
        b"\x1f\x8b", headers=_unsigned((b"content-encoding", b"gzip"))
    ),
    Reason.WRONG_TYPE: lambda: LocalDoor().ask(b"{}", headers=[(b"content-type", b"text/plain")]),
    Reason.READ_ONLY: lambda: LocalDoor().ask(b"", path="/metrics"),
    Reason.BODY_TOO_LARGE: lambda: LocalDoor().ask(arriving(b" " * 40_000, b" " * 40_000)),
    Reason.SIGNATURE_MISSING: lambda: LocalDoor().ask(b"{}", headers=_unsigned()),
    Reason.SIGNATURE_MALFORMED: lambda: LocalDoor().ask(
        an_event(), headers=_signed_with(timestamp=b"1e9")
    ),
    Reason.SIGNATURE_TOO_OLD: lambda: LocalDoor().ask(an_event(), headers=LATE),
    Reason.SIGNATURE_TOO_NEW: lambda: LocalDoor().ask(an_event(), headers=EARLY),
    Reason.SIGNATURE_WRONG: lambda: LocalDoor().deliver(an_event(), secret=SECRET_B),
    Reason.NOT_UTF8: lambda: LocalDoor().deliver(b'{"x":"\xff"}'),
    Reason.NOT_JSON: lambda: LocalDoor().deliver(b'{"event_id":"evt_1"'),
    Reason.TOO_DEEP: lambda: LocalDoor().deliver(DEEP),
    Reason.TWICE: lambda: LocalDoor().deliver(b'{"event_id":"a","event_id":"b"}'),
    Reason.NO_TYPE: lambda: LocalDoor().deliver(an_event(event_type=" ")),
    Reason.NO_EVENT_ID: lambda: LocalDoor().deliver(an_event(event_id=7)),
    Reason.NO_INBOX: lambda: LocalDoor().deliver(an_event(message=a_message(inbox_id=None))),
    Reason.WRONG_WORKSPACE: lambda: LocalDoor().deliver(
        an_event(message=a_message(inbox_id="theirs@inbox.example"))
    ),
    Reason.TOO_MANY: _too_many,
    Reason.BUSY: lambda: LocalDoor(in_hand=0).deliver(an_event()),
    Reason.BODY_TOO_SLOW: _too_slow,
    Reason.SIGNATURE_USED: _token_of_another_mail,
    Reason.NOT_FORM: _form_cut,
    Reason.FETCH_FAILED: _no_certificate,
    Reason.BLOBS_AWAY: _blobs_away,
    Reason.BROKER_AWAY: lambda: _refusing(Reason.BROKER_AWAY).deliver(an_event()),
    Reason.QUEUE_FULL: lambda: _refusing(Reason.QUEUE_FULL).deliver(an_event()),
}


# Those for which it takes a connection, or a failure: tests/integration/test_ingest_limits.py.
ON_THE_LINE = {
    Reason.MALFORMED,
    Reason.UPGRADE,
    Reason.URL_TOO_LONG,
    Reason.HEADERS_TOO_LARGE,
    Reason.FRAMING_TOO_LARGE,
    Reason.HEAD_TOO_SLOW,
    Reason.TOO_MANY_CONNECTIONS,
    Reason.OUR_FAILURE,
}


@pytest.mark.parametrize("reason", sorted(set(Reason) - ON_THE_LINE))
def test_every_reason_is_answered_as_the_table_says(
    reason: Reason, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A sender decides by the status whether to come again, and an operator by the reason."""
    ways = WAYS | {Reason.SECRET_UNREADABLE: lambda: _secret_gone(tmp_path_factory)}

    reply = ways[reason]()

    row = ANSWERS[reason]
    wait = None if row.retry_after_s is None else str(row.retry_after_s).encode()
    assert (reply.status, reply.reason) == (row.status, str(reason))
    assert reply.headers.get(b"retry-after") == wait


def test_statuses_are_the_ones_that_senders_understand() -> None:
    """The design's table: whoever changes a status changes what senders do with the event."""
    by_status: dict[int, set[str]] = {}
    for reason, row in ANSWERS.items():
        by_status.setdefault(row.status, set()).add(reason)

    refused = by_status.pop(400)
    assert by_status == {
        404: {"unknown-source"},
        405: {"wrong-method", "read-only"},
        408: {"head-too-slow"},
        413: {"body-too-large"},
        414: {"url-too-long"},
        415: {"compressed", "wrong-content-type"},
        429: {"too-many"},
        431: {"headers-too-large", "framing-too-large"},
        503: {
            "too-many-connections",
            "busy",
            "body-too-slow",
            "secret-unreadable",
            "fetch-failed",
            "blob-store-away",
            "broker-away",
            "queue-full",
            "our-failure",
        },
    }
    assert len(refused) == len(Reason) - sum(map(len, by_status.values()))


@pytest.mark.parametrize("status", [200, 202, 204])
def test_accepted_is_the_sources_own_status_without_a_body(status: int) -> None:
    """Some senders take 200 alone for success."""
    door = LocalDoor(DIRECTORY + f"accepted_status = {status}\n")

    reply = door.deliver(an_event())

    length = {} if status == 204 else {b"content-length": b"0"}
    assert reply == Reply(status, length, b"")


def test_wrong_method_names_the_right_one() -> None:
    """RFC 9110 15.5.6 asks for it, and it tells a curious person what the path is for."""
    assert LocalDoor().ask(b"", method="PUT").headers[b"allow"] == b"POST"


@pytest.mark.parametrize("path", ["/", "/webhooks", "/webhooks/", "/webhooks/agentmail/"])
def test_other_paths_are_not_found_and_never_redirected(path: str) -> None:
    """Senders do not follow redirects, and count one as a failure."""
    assert LocalDoor().ask(b"", path=path).status == 404
