"""From a request to the record that follows from it: the text of a reply, or a dead letter.

Owns: the deadline of a call, and that nothing which a writer does gets past its own request.
May not: produce, or know what runs it.
"""

import asyncio
import time
from datetime import timedelta
from typing import Final

from msgspec.structs import replace

from processors.core.turn import Output, Record
from processors.runtime.dead_letters import dead_letter
from processors.writers.drafts import Approval, Draft, draft_of
from processors.writers.loading import Writer
from processors.writers.thread import Thread, thread_of
from schemas.codec import to_json
from schemas.commands import WRITE_REQUEST, SendReply, WriteRequest
from schemas.errors import Refused
from schemas.headers import ORIGIN, TRACE, Headers, envelope, iso_time
from schemas.topics import Topic

STAGE: Final = "write"


class WriterFailed(Refused):
    """The writer raised, or did not come back in time."""


async def answer(record: Record, write: Writer, *, deadline: timedelta) -> Output:
    """The one record that follows from a request. Raises only when this task is cancelled."""
    try:
        request = WRITE_REQUEST.decode(record.value)
        written = await _called(write, thread_of(request), deadline)
        return _text(record, request, draft_of(written))
    except Exception as error:  # noqa: BLE001  # whatever it is, it is this request's
        return dead_letter(record, stage=STAGE, error=error)


async def _called(write: Writer, thread: Thread, deadline: timedelta) -> object:
    try:
        async with asyncio.timeout(deadline.total_seconds()) as clock:
            return await write(thread)
    except BaseException as error:
        # Cancelled from outside: this process is stopping, and the request will be read again.
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        if clock.expired():
            raise WriterFailed(f"the writer took longer than {deadline}") from error
        raise WriterFailed(f"the writer raised {type(error).__name__}: {error}") from error


def _text(record: Record, request: WriteRequest, draft: Draft) -> Output:
    command = SendReply(
        reply_key=request.reply_key,
        inbox_id=request.inbox_id,
        ask_number=request.ask_number,
        text=draft.text,
        html=draft.html,
    )
    return Output(
        topic=Topic.REPLY_COMMANDS,
        key=request.inbox_id,
        value=to_json(command if draft.approval is None else _held(command, draft.approval)),
        headers=_headers(record, request),
        mark=record.mark,
    )


def _held(command: SendReply, approval: Approval) -> SendReply:
    held = replace(command, needs_approval=True, summary=approval.summary)
    return held if approval.evidence is None else replace(held, evidence=approval.evidence)


def _headers(record: Record, request: WriteRequest) -> Headers:
    origin = f"{record.topic}/{record.partition}/{record.offset}".encode()
    trace = tuple((name, value) for name, value in record.headers if name == TRACE and value)
    return (
        *envelope(
            "onereply.command.send-reply",
            f"{request.reply_key}/text/{request.ask_number}",
            source="onereply:write",
            subject=request.reply_key,
            time=iso_time(time.time_ns()),
        ),
        (ORIGIN, origin),
        *trace,
    )
