"""Who and what a verified body names: the event's key, its type, and its inbox.

Owns: the event's id, from the one place that the rules name, and whose inbox it is about.
May not: use an unsigned header, or look at more of a payload than the rules say.
"""

from collections.abc import Callable, Iterator
from functools import partial
from hashlib import sha256
from typing import Final

import msgspec

from ingest.answers import Reason, TurnedAway
from ingest.forms import JSON, Kind
from ingest.payloads import Payload, Place, payload_of
from ingest.rules import SIGNED_ID, Identity, Rules
from schemas.addresses import Inboxes
from schemas.errors import DecodeError
from schemas.keys import (
    EventId,
    EventKey,
    InboxId,
    SourceName,
    canonical_id,
    event_key,
    framed,
)

# Longer than any type we know by far; it goes into a record header.
MAX_TYPE_BYTES: Final = 256
_MENDED: Final = "\ufffd"


class Speaker(msgspec.Struct, frozen=True, kw_only=True):
    """Whose body it is: the source, its provider's rules, and the inboxes it may speak for."""

    source: SourceName
    rules: Rules
    inboxes: Inboxes


class Named(msgspec.Struct, frozen=True, kw_only=True):
    """What a body names. `inbox_id` is None for events that belong to no inbox, or to several."""

    key: EventKey
    event_id: EventId
    event_type: str
    inbox_id: InboxId | None


def named(
    body: bytes, speaker: Speaker, *, kind: Kind = JSON, delivery_id: str = "", digest: str = ""
) -> Named:
    """What this verified body names. Raises TurnedAway with the reason when it names nothing.

    The same event gives the same key at the same source, whatever else its body says, and two
    events never share one: event_key says why. `delivery_id` is an id that the proof covers.
    `digest` is the hex SHA-256 of the whole of which these bytes are the skeleton.
    """
    rules = speaker.rules
    payload = payload_of(body, kind, frozenset() if kind == JSON else rules.fields())
    event_type = _type(payload, rules)
    is_mail = event_type in rules.mail_types
    given = _given_id(payload, rules.mail_ids if is_mail else rules.ids, delivery_id)
    if given is None and rules.identity is not None:
        whole = partial(_digest, body, digest)
        given = _derived_id(payload, whole, event_type=event_type, rules=rules)
    event_id = _event_id(given, is_mended=payload.is_mended)
    return Named(
        key=_event_key(speaker.source, event_id),
        event_id=event_id,
        event_type=event_type,
        inbox_id=_inbox(payload, event_type, speaker),
    )


def _type(payload: Payload, rules: Rules) -> str:
    """The type that the payload names, else the provider's for one that names none."""
    event_type = payload.text(rules.types)
    if event_type is None and not any(place[0] in payload.top for place in rules.types):
        event_type = rules.kind
    if event_type is None or not event_type.strip() or not _is_short_text(event_type):
        raise TurnedAway(Reason.NO_TYPE)
    return event_type


def _is_short_text(event_type: str) -> bool:
    return _is_text(event_type) and len(event_type.encode()) <= MAX_TYPE_BYTES


def _given_id(payload: Payload, places: tuple[Place, ...], delivery_id: str) -> str | None:
    """The id that the provider gives, in the body or signed beside it, or None."""
    if SIGNED_ID in places and delivery_id:
        return delivery_id
    return payload.text(places)


def _digest(body: bytes, known: str) -> str:
    return known or sha256(body).hexdigest()


def _derived_id(
    payload: Payload, digest: Callable[[], str], *, event_type: str, rules: Rules
) -> str:
    """The id of an event whose contract has none: what it says of itself, each length-framed.

    The body itself stands in for a message id that is missing, and for what is no mail: several
    events may be about one message. A repeat that is not the same to the byte is another event
    then; the message identity behind the door knows it again.
    """
    identity = rules.identity or Identity()
    recipients = [text for place in identity.recipient for text in payload.texts(place)]
    message = canonical_id(payload.text(identity.message) or "")
    is_enough = message is not None and event_type in rules.mail_types
    parts = framed(
        event_type,
        str(len(recipients)),
        *recipients,
        payload.text(identity.sender) or "",
        message or "",
        payload.text(identity.thread) or "",
        payload.text(identity.time) or "",
        "" if is_enough else digest(),
    )
    return sha256(parts).hexdigest()


def _event_id(given: str | None, *, is_mended: bool) -> EventId:
    event_id = None if given is None else canonical_id(given)
    # Two ids that differ only in a broken character would be one id after mending.
    if event_id is None or (is_mended and _MENDED in event_id) or not _is_text(event_id):
        raise TurnedAway(Reason.NO_EVENT_ID)
    return EventId(event_id)


def _is_text(given: str) -> bool:
    """Whether it can be written as UTF-8: a form's bytes may be none."""
    try:
        given.encode()
    except UnicodeEncodeError:
        return False
    return True


def _event_key(source: SourceName, event_id: EventId) -> EventKey:
    try:
        return event_key(source, event_id)
    except DecodeError as error:
        raise TurnedAway(Reason.NO_EVENT_ID) from error


def _inbox(payload: Payload, event_type: str, speaker: Speaker) -> InboxId | None:
    """The inbox that the event is about, which must be one of these. Mail must name one.

    Whatever else names none is kept, like any type that we do not know: it answers nothing.
    """
    rules = speaker.rules
    if rules.recipients:
        return _addressed(payload, speaker) if event_type in rules.mail_types else None
    inbox_id = next(_inboxes_given(payload, event_type, rules), None)
    if inbox_id is None and event_type in rules.mail_types:
        raise TurnedAway(Reason.NO_INBOX)
    if inbox_id is not None and inbox_id not in speaker.inboxes:
        raise TurnedAway(Reason.WRONG_WORKSPACE)
    return None if inbox_id is None else InboxId(inbox_id)


def _addressed(payload: Payload, speaker: Speaker) -> InboxId | None:
    """The inbox of ours that the mail went to; None where it went to several.

    Others may be among its recipients: a mail to us and to a stranger is a mail to us.
    """
    given = [text for place in speaker.rules.recipients for text in payload.texts(place)]
    addresses = [each for each in map(canonical_id, given) if each is not None]
    if not addresses:
        raise TurnedAway(Reason.NO_INBOX)
    ours = {inbox for inbox in map(speaker.inboxes.at, addresses) if inbox is not None}
    if not ours:
        raise TurnedAway(Reason.WRONG_WORKSPACE)
    return InboxId(ours.pop()) if len(ours) == 1 else None


def _inboxes_given(payload: Payload, event_type: str, rules: Rules) -> Iterator[str]:
    """The inboxes in the object where they belong, then, but for mail, in any other object."""
    if not rules.inbox_member:
        return
    places = [rules.holders[event_type]] if event_type in rules.holders else []
    if event_type not in rules.mail_types:
        places += list(payload.top)
    for place in places:
        given = payload.text([(place, rules.inbox_member)]) if payload.is_object(place) else None
        if given is not None and (inbox_id := canonical_id(given)) is not None:
            yield inbox_id
