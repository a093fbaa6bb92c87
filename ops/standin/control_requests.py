"""What every control of the provider shares: its handler, its body, its numbers.

Owns: how a control reads a request, and what it cannot do ending as a refusal.
May not: know a control.
"""

from collections.abc import Awaitable, Callable
from typing import Annotated, Final

import msgspec
from msgspec import Meta
from starlette.requests import Request
from starlette.responses import Response

from ops.standin.faults import TooManyFaults
from ops.standin.journal import StateFileFull
from ops.standin.mailbox import MailboxFull
from ops.standin.refusals import ApiError
from ops.standin.standin import Standin
from ops.standin.wire import BodyT, BodyTooLarge, decode_json, read_body

# Long enough for ten thousand mails of a kilobyte in one request.
MAX_CONTROL_BYTES: Final = 64 * 1024 * 1024

Control = Callable[[Standin, Request], Awaitable[Response]]
Number = Annotated[float, Meta(ge=0)]


def controlled(standin: Standin, control: Control) -> Callable[[Request], Awaitable[Response]]:
    """The handler of this control: what it cannot do ends as a refusal in the provider's shape."""

    async def answer(request: Request) -> Response:
        """Answer one request of the control side."""
        try:
            return await control(standin, request)
        except BodyTooLarge as error:
            raise ApiError(413, "the body is too large") from error
        except (MailboxFull, StateFileFull, TooManyFaults) as error:
            raise ApiError(507, str(error)) from error

    return answer


async def control_body(request: Request, kind: type[BodyT]) -> BodyT:
    """The body as this type. Raises ApiError 400 with the field at fault."""
    try:
        return decode_json(await read_body(request, limit=MAX_CONTROL_BYTES), kind)
    except ValueError as error:
        raise ApiError(400, str(error)) from error


def number_in(request: Request, name: str, default: float) -> float:
    """The query parameter as a number of 0 or more. Raises ApiError 400 when it is none."""
    written = request.query_params.get(name)
    try:
        return default if written is None else msgspec.convert(written, Number, strict=False)
    except msgspec.ValidationError as error:
        raise ApiError(400, f"{name} must be a number of 0 or more") from error
