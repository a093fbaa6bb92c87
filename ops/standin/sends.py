"""Reply, reply-all and send: the operations that put a mail into the mailbox.

Owns: the order in which a send becomes durable, and what its key does on the way.
May not: accept a mail that was answered before under the same key.

P1 the key is claimed; P2 the mail is in the mailbox and the state file; P3 the key is complete and
the answer goes out. A fault says what happens between them.
"""

import asyncio
from collections.abc import Callable
from typing import Final

import msgspec
from starlette.responses import Response

from ops.standin.answers import CutAnswer, HeldAnswer
from ops.standin.compose import (
    Placing,
    composed,
    fresh_thread_id,
    parse_body,
    placing_of_reply,
    recipients_of_reply,
    recipients_of_reply_all,
    recipients_of_send,
)
from ops.standin.entries import AcceptedMail, MailAccepted
from ops.standin.events import tell_accepted
from ops.standin.faults import Kind, Operation
from ops.standin.idempotency import KEY, Answer, Conflict, Fresh, Repeated, fingerprint_of
from ops.standin.messages import Message
from ops.standin.operations import Call, injected
from ops.standin.refusals import ApiError
from ops.standin.standin import Standin
from ops.standin.wire import json_response

# One sentence for both cases: the provider does not tell them apart, so neither may a client.
CONFLICT: Final = "the Idempotency-Key is in use by another request"


async def send_mail(standin: Standin, call: Call) -> Response:
    """Accept one mail, or give the first answer again. Raises ApiError for everything else."""
    if call.key is None:
        await _stall(standin, call)
        answer = _accept(standin, call)
        return _answered(standin, call, answer=answer, complete=_nothing)
    if not KEY.fullmatch(call.key):
        raise ApiError(400, "Idempotency-Key: 1 to 256 of A-Z a-z 0-9 - . _ ~")
    return await _send_under_key(standin, call, call.key)


async def _send_under_key(standin: Standin, call: Call, key: str) -> Response:
    keys, clock = standin.state.keys, standin.state.clock
    fingerprint = _fingerprint(call)
    match keys.claim(key, fingerprint, now=clock.now()):  # P1
        case Conflict():
            raise ApiError(409, CONFLICT)
        case Repeated(answer):
            await _stall(standin, call)
            return _answered(standin, call, answer=answer, complete=_nothing)
        case Fresh():
            pass
    try:
        await _stall(standin, call)
        answer = _accept(standin, call)  # P2
    except BaseException:
        keys.release(key)
        raise

    def complete() -> None:
        """The send is over: the key's day begins."""
        keys.complete(key, fingerprint, answer=answer, now=clock.now())

    return _answered(standin, call, answer=answer, complete=complete)  # P3


async def _stall(standin: Standin, call: Call) -> None:
    # The client may leave meanwhile; the provider does not notice, and accepts the mail later.
    if call.fault is None:
        return
    if call.fault.kind is Kind.DELAY:
        await asyncio.sleep(call.fault.seconds)
    if call.fault.kind is Kind.HOLD_THEN_ACCEPT:
        await standin.state.holds.hold(call.fault.seconds)


def _accept(standin: Standin, call: Call) -> Answer:
    state = standin.state
    if call.era != state.era:
        raise ApiError(503, "the stand-in was reset while this request ran")
    message = _compose(standin, call)
    state.mailbox.check_room(message)
    mail = AcceptedMail(
        sequence=len(state.mailbox.accepted) + 1,
        operation=call.operation,
        message=message,
        accepted_at=state.clock.now(),
        answered=call.message_id,
        idempotency_key=call.key,
        fingerprint=_fingerprint(call) if call.key else None,
    )
    state.record(MailAccepted(mail))
    tell_accepted(standin, message)
    return Answer(message_id=message.message_id, thread_id=message.thread_id)


def _compose(standin: Standin, call: Call) -> Message:
    inbox_id = existing_inbox(standin, call)
    content = parse_body(call.operation, call.body)
    if call.operation is Operation.SEND:
        recipients = recipients_of_send(content)
        placing = Placing(thread_id=fresh_thread_id(), subject=content.subject)
    else:
        parent = existing_message(standin, call)
        placing = placing_of_reply(parent)
        recipients = (
            recipients_of_reply(parent, content)
            if call.operation is Operation.REPLY
            else recipients_of_reply_all(parent)
        )
    now = standin.state.clock.now()
    return composed(inbox_id, content, recipients=recipients, placing=placing, now=now)


def _answered(
    standin: Standin, call: Call, *, answer: Answer, complete: Callable[[], None]
) -> Response:
    plain = json_response(msgspec.to_builtins(answer))
    kind = None if call.fault is None else call.fault.kind
    if call.fault is not None and kind is Kind.ACCEPT_THEN_HOLD:
        holds = standin.state.holds
        return HeldAnswer(plain, holds=holds, seconds=call.fault.seconds, complete=complete)
    complete()
    if kind is Kind.ACCEPT_THEN_DROP:
        return CutAnswer()
    if call.fault is not None and kind is Kind.ACCEPT_THEN_STATUS:
        return injected(call.fault)
    return plain


def _fingerprint(call: Call) -> str:
    return fingerprint_of(
        call.operation, call.inbox_id or "", call.message_id or "", body=call.body
    )


def _nothing() -> None:
    """There is no key to complete."""


def existing_inbox(standin: Standin, call: Call) -> str:
    """The inbox of the path. Raises ApiError 404 when there is none."""
    if call.inbox_id is None or not standin.state.mailbox.has_inbox(call.inbox_id):
        raise ApiError(404, "no such inbox")
    return call.inbox_id


def existing_message(standin: Standin, call: Call) -> Message:
    """The message of the path. Raises ApiError 404 when the inbox has none of exactly this id."""
    message = standin.state.mailbox.message(call.inbox_id or "", call.message_id or "")
    if message is None:
        raise ApiError(404, "no such message in this inbox")
    return message
