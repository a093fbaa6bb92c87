"""The members of AgentMail's payloads that are of use here, each of whatever shape it came in.

Documentation and SDK disagree on shapes, so nothing but the places of objects is declared: the
decoder skips what is not named, and a member that is missing or null is None.

What is decoded from JSON holds no ring, so the garbage collector need not look at it (`gc`).

Owns: the names on the wire.
May not: interpret a value.
"""

from typing import Any, Final

import msgspec

from processors.core.bodies import object_of


class Message(msgspec.Struct, gc=False):
    """A mail, as it is pushed and as it is read."""

    inbox_id: Any = None
    thread_id: Any = None
    message_id: Any = None
    labels: Any = None
    timestamp: Any = None
    from_: Any = msgspec.field(default=None, name="from")
    from_underscore: Any = msgspec.field(default=None, name="from_")
    reply_to: Any = None
    to: Any = None
    cc: Any = None
    subject: Any = None
    text: Any = None
    html: Any = None
    attachments: Any = None
    in_reply_to: Any = None
    references: Any = None
    headers: Any = None
    size: Any = None


class Fact(msgspec.Struct, gc=False):
    """What happened to a mail; and the few members of a thread that are of use."""

    inbox_id: Any = None
    thread_id: Any = None
    message_id: Any = None
    timestamp: Any = None
    type: Any = None
    sub_type: Any = None
    reason: Any = None
    recipients: Any = None
    message_count: Any = None


# What is not an object where one belongs is taken as it comes, and then is no object.
_Loose = list[Any] | str | int | float | bool | None


class Payload(msgspec.Struct, gc=False):
    """A webhook's body."""

    event_type: Any = None
    message: Message | _Loose = None
    thread: Fact | _Loose = None
    send: Fact | _Loose = None
    delivery: Fact | _Loose = None
    bounce: Fact | _Loose = None
    complaint: Fact | _Loose = None
    reject: Fact | _Loose = None
    open: Fact | _Loose = None


_DECODE: Final = msgspec.json.Decoder(Payload).decode


def decoded(value: bytes) -> Payload:
    """The body, lifted. Raises Refused for what is no JSON object."""
    try:
        return _DECODE(value)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return msgspec.convert(object_of(value), Payload)
