"""Bytes in, bytes out: bounded bodies, JSON both ways, ids in paths decoded once.

Owns: the body limit, the JSON settings, and how a percent-encoded path finds its route.
May not: know an operation.
"""

from collections.abc import Mapping
from typing import Any, Final, TypeVar
from urllib.parse import unquote

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import Scope

# Attachments travel in base64. No documented limit is known; 8 MiB holds any mail that the
# pipeline sends (its records end at 4 MiB).
MAX_BODY_BYTES: Final = 8 * 1024 * 1024

BodyT = TypeVar("BodyT")


class BodyTooLarge(Exception):
    """More bytes than the limit. They are not read further."""


class EncodedRoute(Route):
    """A route that splits the path before it is decoded, so that ids may hold `/ ? # % + < >`."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Starlette's match, over the bytes that the client sent."""
        raw_path = scope.get("raw_path")
        if raw_path is None:
            return super().matches(scope)
        match, child = super().matches({**scope, "path": raw_path.decode("ascii")})
        params: Mapping[str, str] = child.get("path_params", {})
        decoded = {name: unquote(value) for name, value in params.items()}
        return match, {**child, "path_params": decoded}


async def read_body(request: Request, *, limit: int = MAX_BODY_BYTES) -> bytes:
    """The whole body. Raises BodyTooLarge as soon as it passes the limit, chunked or not."""
    chunks: list[bytes] = []
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > limit:
            raise BodyTooLarge
        chunks.append(chunk)
    return b"".join(chunks)


def json_response(content: Any, status: int = 200, **headers: str) -> Response:
    """An answer in JSON. A header `retry_after` goes out as `retry-after`."""
    return Response(
        msgspec.json.encode(content),
        status_code=status,
        media_type="application/json",
        headers={name.replace("_", "-"): value for name, value in headers.items()},
    )


def decode_json(body: bytes, kind: type[BodyT]) -> BodyT:
    """The body as this type. Raises ValueError with a sentence that names the field at fault."""
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(str(error)) from error
