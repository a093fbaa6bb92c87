"""What the provider says when it says no: one body shape, one table of codes.

Owns: the error body `{name, code, message}` and the code that goes with each status.
May not: decide that something is refused.
"""

from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from ops.standin.wire import json_response

NAMES: Final = {
    400: ("ValidationError", "validation_error"),
    401: ("UnauthorizedError", "unauthorized"),
    403: ("ForbiddenError", "message_rejected"),
    404: ("NotFoundError", "not_found"),
    405: ("MethodNotAllowedError", "method_not_allowed"),
    409: ("ConflictError", "conflict"),
    413: ("PayloadTooLargeError", "payload_too_large"),
    422: ("UnprocessableError", "unprocessable"),
    429: ("RateLimitError", "rate_limit_exceeded"),
    500: ("InternalError", "internal_error"),
    503: ("ServiceUnavailableError", "service_unavailable"),
    507: ("InsufficientStorageError", "mailbox_full"),
}


class ApiError(Exception):
    """A request that is refused: the status and sentence that the caller gets."""

    def __init__(self, status: int, message: str, *, code: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code


def refusal(status: int, message: str, *, code: str | None = None) -> dict[str, Any]:
    """The error body for this status."""
    name, usual_code = NAMES.get(status, ("HttpError", f"http_{status}"))
    body: dict[str, Any] = {"name": name, "code": code or usual_code, "message": message}
    if name == "ValidationError":
        body["errors"] = [{"path": [], "message": message}]
    return body


def refuse(error: ApiError) -> Response:
    """The answer that carries this refusal."""
    return json_response(refusal(error.status, error.message, code=error.code), error.status)


async def on_api_error(_request: Request, error: Exception) -> Response:
    """Starlette's hook for refusals that are raised outside an operation."""
    if not isinstance(error, ApiError):
        raise error
    return refuse(error)


async def on_no_route(request: Request, _error: Exception) -> Response:
    """Unknown paths are refused in the provider's shape too."""
    return refuse(ApiError(404, f"no such path: {request.url.path}"))


async def on_wrong_method(request: Request, _error: Exception) -> Response:
    """A known path with another method."""
    return refuse(ApiError(405, f"{request.method} is not offered here"))
