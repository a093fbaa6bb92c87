"""What every request under /v0 goes through, whichever operation it asks for.

Owns: reading a request into a Call, the API key, early faults, and the attempt log.
May not: know what an operation does.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from hashlib import sha256

from msgspec import Struct, structs
from starlette.requests import Request
from starlette.responses import Response

from ops.standin.answers import CutAnswer, Ended, HeldAnswer
from ops.standin.attempts import Attempt
from ops.standin.faults import SENDS, Fault, Kind, Operation
from ops.standin.journal import StateFileFull
from ops.standin.mailbox import MailboxFull
from ops.standin.refusals import ApiError, refusal, refuse
from ops.standin.standin import Standin
from ops.standin.wire import BodyTooLarge, json_response, read_body


class Call(Struct, frozen=True, kw_only=True):
    """One request, read whole. `era` is that of the state it was made to."""

    operation: Operation
    inbox_id: str | None
    message_id: str | None
    ids: Mapping[str, str]
    query: Mapping[str, str]
    authorization: str
    idempotency_keys: tuple[str, ...]
    body: bytes
    era: int
    fault: Fault | None = None

    @property
    def key(self) -> str | None:
        """The Idempotency-Key as given; several headers read as one with commas, as HTTP has it."""
        return ", ".join(self.idempotency_keys) if self.idempotency_keys else None


Operate = Callable[[Standin, Call], Awaitable[Response]]
Endpoint = Callable[[Request], Awaitable[Response]]


def endpoint(standin: Standin, operation: Operation, operate: Operate) -> Endpoint:
    """The handler of this operation: logs the attempt, refuses in one shape, meets faults."""

    async def answer(request: Request) -> Response:
        """Answer one request."""
        try:
            call = await _read(request, operation, era=standin.state.era)
        except BodyTooLarge:
            return refuse(ApiError(413, "the body is too large"))
        number, ended = _begin(standin, call)
        try:
            response = await _operated(standin, call, operate, number=number)
        except ApiError as error:
            response = refuse(error)
        except (MailboxFull, StateFileFull) as error:
            response = refuse(ApiError(507, str(error)))
        return _logged(response, ended)

    return answer


def injected(fault: Fault) -> Response:
    """The answer that a status fault orders."""
    usual = refusal(fault.status, "ordered by the control side", code=fault.code)
    body = usual if fault.body is None else fault.body
    headers = {} if fault.retry_after is None else {"retry_after": fault.retry_after}
    return json_response(body, fault.status, **headers)


async def _read(request: Request, operation: Operation, *, era: int) -> Call:
    return Call(
        operation=operation,
        inbox_id=request.path_params.get("inbox_id"),
        message_id=request.path_params.get("message_id"),
        ids=request.path_params,
        query=request.query_params,
        authorization=request.headers.get("authorization", ""),
        idempotency_keys=tuple(request.headers.getlist("idempotency-key")),
        body=await read_body(request),
        era=era,
    )


def _begin(standin: Standin, call: Call) -> tuple[int, Ended]:
    attempts = standin.state.attempts
    number = attempts.total + 1
    attempts.begin(
        Attempt(
            number=number,
            at=standin.state.clock.now(),
            operation=call.operation,
            inbox_id=call.inbox_id,
            message_id=call.message_id,
            idempotency_key=call.key,
            body_sha256=sha256(call.body).hexdigest(),
        )
    )
    standin.state.signals.notify()

    def ended(how: str, status: int | None) -> None:
        """Note how the attempt ended, in the log in which it began."""
        attempts.settle(number, end=how, status=status)
        standin.state.signals.notify()

    return number, ended


async def _operated(standin: Standin, call: Call, operate: Operate, *, number: int) -> Response:
    if not _is_authorized(call.authorization):
        raise ApiError(401, "send Authorization: Bearer am_...")
    fault = standin.state.faults.take(call.operation, message_id=call.message_id, key=call.key)
    if fault is None:
        return await operate(standin, call)
    standin.state.attempts.meet(number, fault.kind)
    if fault.kind is Kind.DROP:
        return CutAnswer()
    if fault.kind is Kind.STATUS:
        _occupy_key(standin, call, fault)
        return injected(fault)
    if fault.kind is Kind.DELAY and call.operation not in SENDS:
        await asyncio.sleep(fault.seconds)
    return await operate(standin, structs.replace(call, fault=fault))


def _logged(response: Response, ended: Ended) -> Response:
    match response:
        case HeldAnswer():
            response.tell(ended)
        case CutAnswer():
            ended("cut", None)
        case _:
            ended("answered", response.status_code)
    return response


def _is_authorized(authorization: str) -> bool:
    scheme, _, token = authorization.partition(" ")
    return scheme.lower() == "bearer" and token.startswith("am_") and len(token) > len("am_")


def _occupy_key(standin: Standin, call: Call, fault: Fault) -> None:
    # After a first attempt that failed, the provider frees the key "after a short window".
    if call.key is not None and fault.key_busy_seconds > 0:
        busy = timedelta(seconds=fault.key_busy_seconds)
        standin.state.keys.settle(call.key, free_at=standin.state.clock.now() + busy)
