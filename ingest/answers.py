"""What the door answers, and why: the status table as data.

Owns: every reason for which a delivery is not accepted, its status, and the words sent back.
May not: know how a reason was found. That a delivery is a repeat is no reason: the door cannot
know it, and a repeat is answered like the first.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

import msgspec
from starlette.types import Message

from schemas.errors import OneReplyError

# Long enough for a leader election, short enough that the sender's next try is what decides.
RETRY_AFTER_S: Final = 30


class Reason(StrEnum):
    """Why a delivery was turned away. The value is what the sender reads and metrics count."""

    MALFORMED = "malformed"
    UPGRADE = "upgrade"
    URL_TOO_LONG = "url-too-long"
    HEADERS_TOO_LARGE = "headers-too-large"
    FRAMING_TOO_LARGE = "framing-too-large"
    HEAD_TOO_SLOW = "head-too-slow"
    TOO_MANY_CONNECTIONS = "too-many-connections"

    UNKNOWN_SOURCE = "unknown-source"
    WRONG_METHOD = "wrong-method"
    READ_ONLY = "read-only"
    COMPRESSED = "compressed"
    WRONG_TYPE = "wrong-content-type"
    BODY_TOO_LARGE = "body-too-large"

    SIGNATURE_MISSING = "signature-missing"
    SIGNATURE_MALFORMED = "signature-malformed"
    SIGNATURE_TOO_OLD = "signature-too-old"
    SIGNATURE_TOO_NEW = "signature-too-new"
    SIGNATURE_WRONG = "signature-wrong"
    SIGNATURE_USED = "signature-used"

    NOT_UTF8 = "not-utf-8"
    NOT_JSON = "not-json"
    NOT_FORM = "not-a-form"
    TOO_DEEP = "too-deep"
    TWICE = "member-twice"
    NO_TYPE = "no-type"
    NO_EVENT_ID = "no-event-id"
    NO_INBOX = "no-inbox"
    WRONG_WORKSPACE = "wrong-workspace"

    TOO_MANY = "too-many"
    BUSY = "busy"
    BODY_TOO_SLOW = "body-too-slow"
    SECRET_UNREADABLE = "secret-unreadable"  # noqa: S105  # names a reason, holds no secret
    FETCH_FAILED = "fetch-failed"
    BLOBS_AWAY = "blob-store-away"
    BROKER_AWAY = "broker-away"
    QUEUE_FULL = "queue-full"
    OUR_FAILURE = "our-failure"


class TurnedAway(OneReplyError):
    """A delivery that is not accepted. `retry_after_s` overrides the table's own."""

    def __init__(self, reason: Reason, *, retry_after_s: int | None = None) -> None:
        super().__init__(str(reason))
        self.reason = reason
        self.retry_after_s = retry_after_s


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """One row: the status, a sentence for whoever debugs the sender, and two headers."""

    status: int
    error: str
    retry_after_s: int | None = None
    headers: tuple[tuple[bytes, bytes], ...] = ()


def _refusal(error: str) -> Answer:
    return Answer(status=400, error=error)


def _later(error: str, *headers: tuple[bytes, bytes]) -> Answer:
    return Answer(status=503, error=error, retry_after_s=RETRY_AFTER_S, headers=headers)


# A sender treats 4xx of some kinds as final and 5xx never, so whatever is not the delivery's own
# fault is 503, a slow body included: nobody may lose an event to a bad line.
ANSWERS: Final[Mapping[Reason, Answer]] = {
    Reason.MALFORMED: _refusal("this is no request of HTTP/1.1"),
    Reason.UPGRADE: _refusal("send without Upgrade, and not by CONNECT"),
    Reason.URL_TOO_LONG: Answer(status=414, error="the path is too long"),
    Reason.HEADERS_TOO_LARGE: Answer(status=431, error="too many or too long headers"),
    Reason.FRAMING_TOO_LARGE: Answer(status=431, error="too long chunk lines or trailers"),
    Reason.HEAD_TOO_SLOW: Answer(status=408, error="the headers did not arrive in time"),
    Reason.TOO_MANY_CONNECTIONS: _later("too many connections"),
    Reason.UNKNOWN_SOURCE: Answer(status=404, error="no such source"),
    Reason.WRONG_METHOD: Answer(
        status=405, error="webhooks are posted", headers=((b"allow", b"POST"),)
    ),
    Reason.READ_ONLY: Answer(
        status=405, error="this page is only read", headers=((b"allow", b"GET, HEAD"),)
    ),
    Reason.COMPRESSED: Answer(status=415, error="send the body uncompressed"),
    Reason.WRONG_TYPE: Answer(status=415, error="this source takes another content type"),
    Reason.BODY_TOO_LARGE: Answer(status=413, error="the body is longer than this door takes"),
    Reason.SIGNATURE_MISSING: _refusal("what this source's scheme signs with is not all there"),
    Reason.SIGNATURE_MALFORMED: _refusal("the signature, or what belongs to it, is malformed"),
    Reason.SIGNATURE_TOO_OLD: _refusal("the signature's time is more than 300 s ago"),
    Reason.SIGNATURE_TOO_NEW: _refusal("the signature's time is more than 300 s ahead"),
    Reason.SIGNATURE_WRONG: _refusal("no signature matches these bytes"),
    Reason.SIGNATURE_USED: _refusal("this token came with another mail before"),
    Reason.NOT_UTF8: _refusal("the body is not UTF-8"),
    Reason.NOT_JSON: _refusal("the body is not one JSON object"),
    Reason.NOT_FORM: _refusal("the body is not the form that its type says"),
    Reason.TOO_DEEP: _refusal("the body is nested deeper than 64 levels"),
    Reason.TWICE: _refusal("an object that names the event carries a member twice"),
    Reason.NO_TYPE: _refusal("the event's type is missing, blank, too long or not a string"),
    Reason.NO_EVENT_ID: _refusal("the event's id is missing, blank, too long or not a string"),
    Reason.NO_INBOX: _refusal("the inbox is missing, blank, too long or not a string"),
    Reason.WRONG_WORKSPACE: _refusal("this source does not speak for that inbox"),
    Reason.TOO_MANY: Answer(status=429, error="over this source's rate", retry_after_s=1),
    Reason.BUSY: _later("more is in hand than there is room for"),
    Reason.BODY_TOO_SLOW: _later("the body did not arrive in time", (b"connection", b"close")),
    Reason.SECRET_UNREADABLE: _later("this source's secret cannot be read just now"),
    Reason.FETCH_FAILED: _later("what the signature names cannot be fetched just now"),
    Reason.BLOBS_AWAY: _later("the store of large bodies cannot take it just now; send it again"),
    Reason.BROKER_AWAY: _later("not stored in time; send it again"),
    Reason.QUEUE_FULL: _later("more is waiting to be stored than fits; send it again"),
    Reason.OUR_FAILURE: _later("the door failed; send it again", (b"connection", b"close")),
}


def accepted(status: int) -> tuple[Message, Message]:
    """The ASGI messages for a delivery that is stored: the source's 2xx, no body."""
    # 204 has no length by RFC 9110 8.6; without one, any other status would go out chunked.
    length = [] if status == 204 else [(b"content-length", b"0")]  # noqa: PLR2004  # 204
    return _messages(status, length, b"")


def turned_away(error: TurnedAway) -> tuple[Message, Message]:
    """The ASGI messages for a delivery that is not."""
    answer = ANSWERS[error.reason]
    body = msgspec.json.encode({"error": answer.error, "reason": error.reason})
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(body)),
        *answer.headers,
    ]
    if wait_s := error.retry_after_s or answer.retry_after_s:
        headers.append((b"retry-after", b"%d" % wait_s))
    return _messages(answer.status, headers, body)


def _messages(
    status: int, headers: list[tuple[bytes, bytes]], body: bytes
) -> tuple[Message, Message]:
    start: Message = {"type": "http.response.start", "status": status, "headers": headers}
    return start, {"type": "http.response.body", "body": body}
