"""What a part says on its way, and what is taken from it: that it is ready, and why it ended.

Owns: the signals of readiness, and which line is a reason.
May not: keep more than the newest reason.
"""

import json
import signal
from typing import Any, Final

# The lines with which ingest and the stages say that they work; the provider names its address.
READY_EVENTS: Final = frozenset({"door open", "stage live"})
REASON_CHARACTERS: Final = 300


def fields_of(line: bytes) -> dict[str, Any]:
    """The line's fields; none when it is not a JSON object."""
    if not line.startswith(b"{"):
        return {}
    try:
        found = json.loads(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def ready_url(fields: dict[str, Any]) -> str | None:
    """Where a part that says it is ready listens, empty when nowhere; None for any other line."""
    if "listening" in fields:
        return str(fields["listening"])
    if fields.get("event") in READY_EVENTS:
        return str(fields.get("url", ""))
    return None


def reason_of(line: bytes, fields: dict[str, Any]) -> str | None:
    """Why the part may be about to end; None when the line gives no reason.

    A JSON line is one at level error. A plain line is one whatever it says: the last words of a
    process that could not set its logs up, or the end of a traceback.
    """
    if not fields:
        return line.decode(errors="replace").strip()[:REASON_CHARACTERS] or None
    if fields.get("level") not in {"error", "critical"}:
        return None
    told = fields.get("reason") or fields.get("problem") or fields.get("error")
    event = str(fields.get("event", ""))
    if told is None and "exception" in fields:
        told = f"{event}: {fields['exception']}"
    return str(told or event)[:REASON_CHARACTERS]


def ended_sentence(name: str, code: int, reason: str) -> str:
    """How a part ended, in the words of a status line."""
    if code >= 0:
        return f"{name} ended with code {code}: {reason}"
    try:
        return f"{name} was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"{name} was ended by signal {-code}"


def up_line(name: str, where: str, *, seconds: float) -> str:
    """That something is up, where, and how long it took, for a terminal of 80 columns."""
    return f"  {name:<9} {where:<50} {seconds:>5.1f} s"
