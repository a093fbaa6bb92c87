"""Who and what a signed body names: the event's key, its type, and its inbox.

Owns: for each provider, the one member that is the event's id and where its inbox stands.
May not: use anything unsigned, or look at more of a payload than this.
"""

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from ingest import members
from ingest.answers import Reason, TurnedAway
from schemas.bodies import BYTE_ORDER_MARK, json_text
from schemas.errors import DecodeError
from schemas.keys import (
    EventId,
    EventKey,
    InboxId,
    SourceName,
    canonical_id,
    event_key,
)

# Longer than any type we know by far; it goes into a record header.
MAX_TYPE_BYTES: Final = 256
_MENDED: Final = "\ufffd"


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """Where one provider's payload says what.

    `holders`: for the types we know, the member with the object that names the inbox.
    `mail_types`: those that are mail in an inbox, and so must name it.
    """

    type_member: str
    id_member: str
    inbox_member: str
    holders: Mapping[str, str]
    mail_types: frozenset[str]


_AGENTMAIL_MAIL: Final = (
    "message.received",
    "message.received.spam",
    "message.received.blocked",
    "message.received.unauthenticated",
)

AGENTMAIL: Final = Rules(
    type_member="event_type",
    id_member="event_id",
    inbox_member="inbox_id",
    holders={
        **dict.fromkeys(_AGENTMAIL_MAIL, "message"),
        "message.sent": "send",
        "message.delivered": "delivery",
        "message.bounced": "bounce",
        "message.complained": "complaint",
        "message.rejected": "reject",
        "message.opened": "open",
    },
    mail_types=frozenset(_AGENTMAIL_MAIL),
)

RULES: Final[Mapping[str, Rules]] = {"agentmail": AGENTMAIL}


class Named(msgspec.Struct, frozen=True, kw_only=True):
    """What a body names. `inbox_id` is None for events that belong to no inbox."""

    key: EventKey
    event_id: EventId
    event_type: str
    inbox_id: InboxId | None


def named(body: bytes, *, source: SourceName, rules: Rules, inboxes: frozenset[str]) -> Named:
    """What this signed body names. Raises TurnedAway with the reason when it names nothing.

    The same event gives the same key at the same source, whatever else its body says, and two
    events never share one: event_key says why.
    """
    text = _utf8(body)
    found = members.top_members(text)
    event_type = members.string(found, rules.type_member)
    if event_type is None or not event_type.strip() or len(event_type.encode()) > MAX_TYPE_BYTES:
        raise TurnedAway(Reason.NO_TYPE)
    event_id = _event_id(
        members.string(found, rules.id_member), is_mended=text != body.removeprefix(BYTE_ORDER_MARK)
    )
    return Named(
        key=_event_key(source, event_id),
        event_id=event_id,
        event_type=event_type,
        inbox_id=_inbox(found, event_type, rules=rules, inboxes=inboxes),
    )


def _utf8(body: bytes) -> bytes:
    try:
        body.decode()
    except UnicodeDecodeError as error:
        raise TurnedAway(Reason.NOT_UTF8) from error
    return json_text(body)


def _event_id(given: str | None, *, is_mended: bool) -> EventId:
    event_id = None if given is None else canonical_id(given)
    # Two ids that differ only in a broken character would be one id after mending.
    if event_id is None or (is_mended and _MENDED in event_id):
        raise TurnedAway(Reason.NO_EVENT_ID)
    return EventId(event_id)


def _event_key(source: SourceName, event_id: EventId) -> EventKey:
    try:
        return event_key(source, event_id)
    except DecodeError as error:
        raise TurnedAway(Reason.NO_EVENT_ID) from error


def _inbox(
    found: members.Members, event_type: str, *, rules: Rules, inboxes: frozenset[str]
) -> InboxId | None:
    """The inbox that the event is about, which must be one of these. Mail must name one.

    Whatever else names none is kept, like any type that we do not know: it answers nothing.
    """
    inbox_id = next(_inboxes_given(found, event_type, rules), None)
    if inbox_id is None and event_type in rules.mail_types:
        raise TurnedAway(Reason.NO_INBOX)
    if inbox_id is not None and inbox_id not in inboxes:
        raise TurnedAway(Reason.WRONG_WORKSPACE)
    return None if inbox_id is None else InboxId(inbox_id)


def _inboxes_given(found: members.Members, event_type: str, rules: Rules) -> Iterator[str]:
    """The inboxes in the object where they belong, then, but for mail, in any other object."""
    holder = found.get(rules.holders.get(event_type, ""))
    places = [] if holder is None else [holder]
    if event_type not in rules.mail_types:
        places += found.values()
    for place in places:
        if memoryview(place)[:1].tobytes() == b"{":
            given = members.string(members.members(place), rules.inbox_member)
            if given is not None and (inbox_id := canonical_id(given)) is not None:
                yield inbox_id
