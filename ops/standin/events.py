"""Tell the customer's webhooks what happened to a message.

Owns: which event a message leads to, and its id.
May not: deliver by itself, or tell twice under two ids.
"""

from typing import Any, Final

from ops.standin.deliver import Event, Policy
from ops.standin.idempotency import fingerprint_of
from ops.standin.messages import Message, as_json, thread_item
from ops.standin.payload_parts import event
from ops.standin.payloads import to_body
from ops.standin.standin import Standin

# A payload ends at 1 MB: above it the mail's bodies are left out, and a client has to read them.
MAX_PAYLOAD_BYTES: Final = 1_000_000
BODIES: Final = (("text", "html"), ("extracted_text", "extracted_html"))
# What an accepted mail can lead to, and the name of the object that tells it.
ECHOES: Final = {"message.sent": "send", "message.delivered": "delivery"}


def event_id_of(event_type: str, message: Message) -> str:
    """The same event of the same message has the same id, however often it is told."""
    named = fingerprint_of(event_type, message.inbox_id, message.message_id, body=b"")
    return f"evt_{named[:32]}"


def tell_received(
    standin: Standin, message: Message, *, event_type: str, policy: Policy, event_id: str
) -> None:
    """Deliver the event of a customer's mail."""
    mails = standin.state.mailbox.thread(message.inbox_id, message.thread_id)
    thread = thread_item(tuple(stored.message for stored in mails))
    objects = {"message": as_json(message), "thread": as_json(thread)}
    told = _event(event_type, event_id, inbox_id=message.inbox_id, objects=objects)
    takers = standin.state.webhooks.takers(event_type, message.inbox_id)
    standin.deliverer.deliver(told, takers, policy=policy)


def tell_accepted(standin: Standin, message: Message) -> None:
    """Deliver the events that were chosen for accepted mails: the loop back to the customer."""
    for event_type in standin.state.echo:
        told = {
            "inbox_id": message.inbox_id,
            "thread_id": message.thread_id,
            "message_id": message.message_id,
            "timestamp": as_json(message)["timestamp"],
            "recipients": [*message.to, *message.cc, *message.bcc],
        }
        event_id = event_id_of(event_type, message)
        objects = {ECHOES[event_type]: told}
        told_event = _event(event_type, event_id, inbox_id=message.inbox_id, objects=objects)
        takers = standin.state.webhooks.takers(event_type, message.inbox_id)
        standin.deliverer.deliver(told_event, takers, policy=Policy.ONCE)


def _event(event_type: str, event_id: str, *, inbox_id: str, objects: dict[str, Any]) -> Event:
    body = to_body(event(event_type, event_id, **objects))
    for names in BODIES:
        if len(body) <= MAX_PAYLOAD_BYTES:
            break
        message = {k: v for k, v in objects.get("message", {}).items() if k not in names}
        objects = {**objects, "message": message}
        body = to_body(event(event_type, event_id, **objects))
    return Event(event_id=event_id, event_type=event_type, inbox_id=inbox_id, body=body)
