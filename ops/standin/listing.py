"""Pages of mail: what a query asks for, and where the next page begins.

Owns: the query parameters of list and thread, and page tokens.
May not: change mail. A token names a place, so mail that arrives between two pages moves nothing.
"""

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, Literal, TypeVar

import msgspec
from msgspec import Struct

from ops.standin.mailbox import Place, Stored, between
from ops.standin.messages import Message
from ops.standin.refusals import ApiError

# The provider documents no default. A small one makes a client that reads one page show it.
DEFAULT_LIMIT: Final = 50
# Documented for threads, and for lists that filter by from, to or subject.
FILTERED_MAX: Final = 100
LIST_MAX: Final = 1000
# Mail with these labels is listed only when asked for.
HIDDEN: Final = ("spam", "blocked", "unauthenticated", "trash")
ADDRESS_FILTERS: Final = ("from", "to", "subject")

Direction = Literal["ascending", "descending"]
ValueT = TypeVar("ValueT")


class Token(Struct, frozen=True, array_like=True):
    """Where a page ended, and in which direction it was read."""

    direction: Direction
    timestamp: datetime
    arrival: int


class Query(Struct, frozen=True, kw_only=True):
    """One page of a list."""

    direction: Direction
    limit: int
    token: Token | None
    after: datetime | None
    before: datetime | None
    labels: tuple[str, ...]
    shown: frozenset[str]
    contains: tuple[tuple[str, str], ...]


class Page(Struct, frozen=True, kw_only=True):
    """Mails of one page, in its direction, and the token of the next; None on the last."""

    messages: tuple[Message, ...]
    next_page_token: str | None


def list_query(params: Mapping[str, str]) -> Query:
    """What the query string asks of a list. Raises ApiError 400 for what it cannot mean."""
    contains = tuple((name, params[name]) for name in ADDRESS_FILTERS if params.get(name))
    direction: Direction = "ascending" if _flag(params, "ascending") else "descending"
    return Query(
        direction=direction,
        limit=_limit(params, most=FILTERED_MAX if contains else LIST_MAX),
        token=_token(params, direction),
        after=_parsed(params, "after", _instant),
        before=_parsed(params, "before", _instant),
        labels=_parsed(params, "labels", _labels) or (),
        shown=frozenset(label for label in HIDDEN if _flag(params, f"include_{label}")),
        contains=contains,
    )


def thread_query(params: Mapping[str, str]) -> Query:
    """What the query string asks of a thread: newest page first, at most 100 messages each."""
    return Query(
        direction="descending",
        limit=_limit(params, most=FILTERED_MAX),
        token=_token(params, "descending"),
        after=None,
        before=None,
        labels=(),
        shown=frozenset(HIDDEN),
        contains=(),
    )


def page_of(mails: Sequence[Stored], query: Query) -> Page:
    """The page of these mails, which come oldest first. `after` and `before` exclude the instant.

    Whether the provider includes it is not documented: a client has to overlap and dedupe.
    """
    found: list[Stored] = []
    for stored in _candidates(mails, query):
        if len(found) == query.limit:
            return Page(messages=_messages(found), next_page_token=_written(found[-1], query))
        if _is_wanted(stored.message, query):
            found.append(stored)
    return Page(messages=_messages(found), next_page_token=None)


def _candidates(mails: Sequence[Stored], query: Query) -> Iterator[Stored]:
    # Arrivals count from 0, so (t, -1) is before every mail of instant t, and the end of
    # instant t is before (t, an arrival that no mailbox reaches).
    start: Place | None = None if query.after is None else (query.after, 2**62)
    end: Place | None = None if query.before is None else (query.before, -1)
    if query.token is not None:
        place = (query.token.timestamp, query.token.arrival)
        if query.direction == "ascending":
            beyond = (place[0], place[1] + 1)
            start = beyond if start is None else max(start, beyond)
        else:
            end = place if end is None else min(end, place)
    chosen = between(mails, start=start, end=end)
    return iter(chosen) if query.direction == "ascending" else reversed(chosen)


def _is_wanted(message: Message, query: Query) -> bool:
    hidden = any(label in HIDDEN and label not in query.shown for label in message.labels)
    if hidden or not set(query.labels) <= set(message.labels):
        return False
    shown = {"from": message.sender, "to": " ".join(message.to), "subject": message.subject or ""}
    return all(part.lower() in shown[name].lower() for name, part in query.contains)


def _messages(found: list[Stored]) -> tuple[Message, ...]:
    return tuple(stored.message for stored in found)


def _written(last: Stored, query: Query) -> str:
    timestamp, arrival = last.place
    token = Token(direction=query.direction, timestamp=timestamp, arrival=arrival)
    return urlsafe_b64encode(msgspec.json.encode(token)).decode()


def _token(params: Mapping[str, str], direction: Direction) -> Token | None:
    written = params.get("page_token")
    if written is None:
        return None
    try:
        token = msgspec.json.decode(urlsafe_b64decode(written), type=Token)
    except (binascii.Error, ValueError, msgspec.MsgspecError) as error:
        raise ApiError(400, "page_token is not one that was given out") from error
    if token.direction != direction:
        raise ApiError(400, "page_token belongs to a list in the other direction")
    return token


def _limit(params: Mapping[str, str], *, most: int) -> int:
    limit = _parsed(params, "limit", int)
    if limit is None:
        return min(DEFAULT_LIMIT, most)
    if not 1 <= limit <= most:
        raise ApiError(400, f"limit must be from 1 to {most}")
    return limit


def _flag(params: Mapping[str, str], name: str) -> bool:
    value = params.get(name, "false").lower()
    if value not in {"true", "false"}:
        raise ApiError(400, f"{name} must be true or false")
    return value == "true"


def _parsed(params: Mapping[str, str], name: str, parse: Callable[[str], ValueT]) -> ValueT | None:
    written = params.get(name)
    if written is None:
        return None
    try:
        return parse(written)
    except (ValueError, msgspec.MsgspecError) as error:
        raise ApiError(400, f"{name} cannot be read: {error}") from error


def _instant(written: str) -> datetime:
    instant = datetime.fromisoformat(written)
    return instant if instant.tzinfo else instant.replace(tzinfo=UTC)


def _labels(written: str) -> tuple[str, ...]:
    return msgspec.json.decode(written, type=tuple[str, ...])
