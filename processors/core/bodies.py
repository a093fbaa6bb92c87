"""A JSON body where the fast decoder gives up: an odd number is no reason to lose a mail.

Owns: the slow second look, which forgives what the door forgives, and numbers out of range.
May not: know a provider.
"""

import json
from typing import Any

from schemas.bodies import json_text
from schemas.errors import Refused


def object_of(body: bytes) -> dict[str, Any]:
    """The object in this body. Raises Refused for anything else."""
    try:
        found = json.loads(json_text(body).decode(), parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise Refused("body is not JSON") from error
    if not isinstance(found, dict):
        raise Refused("body is not an object")
    return found


def _refuse(constant: str) -> None:
    raise ValueError(constant)
