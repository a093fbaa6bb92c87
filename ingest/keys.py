"""Who and what a signed body names: the event's key, its type, and its inbox.

Owns: for each provider, the one member that is the event's id and where its inbox stands.
May not: use anything unsigned, or look at more of a payload than this.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from ingest import members
from ingest.answers import Reason, TurnedAway
from schemas.bodies import json_text
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
    """Where one provider's payload says what. `holders`: by type, the object with the inbox."""

    type_member: str
    id_member: str
    inbox_member: str
    holders: Mapping[str, str]
    mail_prefix: str
    inbox_prefix: str


AGENTMAIL: Final = Rules(
    type_member="event_type",
    id_member="event_id",
    inbox_member="inbox_id",
    holders={
        "message.sent": "send",
        "message.delivered": "delivery",
        "message.bounced": "bounce",
        "message.complained": "complaint",
        "message.rejected": "reject",
        "message.opened": "open",
    },
    # Every kind of received mail (spam, blocked, ...) stands in `message`, and has an inbox.
    mail_prefix="message.received",
    inbox_prefix="message.",
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
    event_id = _event_id(members.string(found, rules.id_member), is_mended=text != body)
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
    """The inbox that the event is about, one of these. Received mail must have one.

    A fact without a usable inbox is kept like any type that we do not know: it answers nothing.
    """
    if not event_type.startswith(rules.inbox_prefix):
        return None
    given = _inbox_given(found, event_type, rules)
    inbox_id = None if given is None else canonical_id(given)
    if inbox_id is None and event_type.startswith(rules.mail_prefix):
        raise TurnedAway(Reason.NO_INBOX)
    if inbox_id is not None and inbox_id not in inboxes:
        raise TurnedAway(Reason.WRONG_WORKSPACE)
    return None if inbox_id is None else InboxId(inbox_id)


def _inbox_given(found: members.Members, event_type: str, rules: Rules) -> str | None:
    holder = found.get(rules.holders.get(event_type, "message"))
    if holder is None or bytes(holder)[:1] != b"{":
        return None
    return members.string(members.members(holder), rules.inbox_member)
