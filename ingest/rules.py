"""Where each provider's payload says what, as data.

Owns: the places of types, ids and recipients. Source: the section of docs/providers.md at each.
May not: read a payload.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from ingest.forms import JSON_TYPE, MULTIPART, TEXT, URLENCODED
from ingest.payloads import Place

# Not in the body: the id that the signature covers beside it.
SIGNED_ID: Final[Place] = ()


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """What together is an event's id, for a contract without one. Each may be missing."""

    recipient: tuple[Place, ...] = ()
    sender: tuple[Place, ...] = ()
    message: tuple[Place, ...] = ()
    thread: tuple[Place, ...] = ()
    time: tuple[Place, ...] = ()


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """Where one provider's payload says what. Of several places the first with a text counts.

    `kind`: the type of what names none. `mail_types`: those that are mail in an inbox, and so must
    name it; `mail_ids` are their event's id, `ids` that of all others. Without one, `identity` is;
    a provider without identity must name one.
    `inbox_member`, in `holders`' object for the type, is an inbox's name; `recipients` are
    addresses, of which one must be ours.
    """

    takes: tuple[str, ...] = (JSON_TYPE,)
    types: tuple[Place, ...]
    kind: str = ""
    mail_types: frozenset[str] = frozenset()
    ids: tuple[Place, ...] = ()
    mail_ids: tuple[Place, ...] = ()
    identity: Identity | None = None
    inbox_member: str = ""
    holders: Mapping[str, str] = {}
    recipients: tuple[Place, ...] = ()

    def fields(self) -> frozenset[str]:
        """The fields of a form that any of these places leads through."""
        identity = self.identity or Identity()
        groups = (
            self.types,
            self.ids,
            self.mail_ids,
            self.recipients,
            *(getattr(identity, name) for name in identity.__struct_fields__),
        )
        return frozenset(place[0] for places in groups for place in places if place)


_AGENTMAIL_MAIL: Final = (
    "message.received",
    "message.received.spam",
    "message.received.blocked",
    "message.received.unauthenticated",
)

# providers.md 1.3
AGENTMAIL: Final = Rules(
    types=(("event_type",),),
    mail_types=frozenset(_AGENTMAIL_MAIL),
    ids=(("event_id",),),
    mail_ids=(("event_id",),),
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
)

# providers.md 3.1. Behind a relay the signed id is not there to be had.
RESEND: Final = Rules(
    types=(("type",),),
    mail_types=frozenset({"email.received"}),
    ids=(SIGNED_ID,),
    mail_ids=(SIGNED_ID,),
    identity=Identity(
        recipient=(("data", "received_for"), ("data", "to")),
        sender=(("data", "from"),),
        message=(("data", "email_id"),),
        time=(("data", "created_at"), ("created_at",)),
    ),
    recipients=(("data", "received_for"), ("data", "to"), ("data", "cc"), ("data", "bcc")),
)

# providers.md 4.1. A mailbox's id or its address may be the inbox's name.
BIRD: Final = Rules(
    types=(("type",),),
    mail_types=frozenset({"email.received", "email_mailbox.message_received"}),
    ids=(SIGNED_ID,),
    mail_ids=(SIGNED_ID,),
    identity=Identity(
        recipient=(("data", "mailbox_id"), ("data", "to")),
        sender=(("data", "from"),),
        message=(("data", "inbound_message_id"), ("data", "message_id")),
        thread=(("data", "thread_id"),),
        time=(("timestamp",),),
    ),
    recipients=(("data", "mailbox_id"), ("data", "to")),
)

# providers.md 4.2. Which of its types are mail is not known, so none is.
AGENTDRAFT: Final = Rules(
    types=(("event_type",), ("type",)),
    ids=(("event_id",), ("id",)),
)

# providers.md 5.1. An inbound mail has no type; other events name a mail of ours by its id, and
# several may name the same.
POSTMARK: Final = Rules(
    types=(("RecordType",),),
    kind="Inbound",
    mail_types=frozenset({"Inbound"}),
    mail_ids=(("MessageID",),),
    identity=Identity(message=(("MessageID",),)),
    recipients=(("OriginalRecipient",),),
)

# providers.md 5.2. With "send raw" on, the whole mail stands in `email`.
SENDGRID: Final = Rules(
    takes=(MULTIPART, URLENCODED),
    types=(),
    kind="inbound",
    mail_types=frozenset({"inbound"}),
    identity=Identity(
        recipient=(("envelope", "to"),),
        sender=(("envelope", "from"),),
        message=(("headers", ":message-id"), ("email", ":message-id")),
        time=(("headers", ":date"), ("email", ":date")),
    ),
    recipients=(("envelope", "to"),),
)

# providers.md 5.3. The token is all that Mailgun signs beside the time.
MAILGUN: Final = Rules(
    takes=(URLENCODED, MULTIPART, JSON_TYPE),
    types=(("event-data", "event"),),
    kind="route",
    mail_types=frozenset({"route"}),
    ids=(("signature", "token"),),
    mail_ids=(("token",),),
    recipients=(("recipient",),),
)

# providers.md 5.4. What Amazon SES says stands in the message of Amazon SNS.
SES: Final = Rules(
    takes=(TEXT, JSON_TYPE),
    types=(("Message", "notificationType"), ("Message", "eventType"), ("Type",)),
    mail_types=frozenset({"Received"}),
    ids=(("MessageId",),),
    mail_ids=(("MessageId",),),
    recipients=(("Message", "receipt", "recipients"),),
)

RULES: Final[Mapping[str, Rules]] = {
    "agentmail": AGENTMAIL,
    "resend": RESEND,
    "bird": BIRD,
    "agentdraft": AGENTDRAFT,
    "postmark": POSTMARK,
    "sendgrid": SENDGRID,
    "mailgun": MAILGUN,
    "ses": SES,
}
