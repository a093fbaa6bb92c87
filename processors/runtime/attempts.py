"""One decision on one record, timer or result: all of what it wants, or nothing.

Owns: what is taken back when a decision fails, and what travels with the outputs of a record.
May not: set aside; who asked for the decision does.
"""

import logging
from collections.abc import Callable
from typing import Final, TypeVar

from processors.core.turn import Record, Turn
from processors.runtime.overlay import Overlay
from schemas.errors import Permanent, Transient
from schemas.headers import ORIGIN, TRACE, Headers

LOG: Final = logging.getLogger("processors.batch")

AskedT = TypeVar("AskedT")


def attempt(
    decide: Callable[[AskedT, Turn], None], asked: AskedT, *, overlay: Overlay, turn: Turn
) -> Exception | None:
    """Decide on what is asked. What it raised, if it did: then nothing is left of what it wrote.

    Raises what is nobody's own fault: Transient, and a lack of memory.
    """
    overlay.savepoint()
    outputs, effects = len(turn.outputs), len(turn.effects)
    try:
        decide(asked, turn)
    except (Transient, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001  # the one place: whatever it is, it is this decision's
        overlay.undo()
        del turn.outputs[outputs:], turn.effects[effects:]
        return error
    return None


def carried(record: Record) -> Headers:
    """What goes along with every output of a record: where it came from, and its trace."""
    origin = (ORIGIN, f"{record.topic}/{record.partition}/{record.offset}".encode())
    for each in record.headers:
        if each[0] == TRACE:
            return (origin, each)
    return (origin,)


def log_dead(event: str, error: Exception, **place: str | int) -> None:
    """Say that something was set aside: where it stands and what kind of fault, never its bytes."""
    is_expected = isinstance(error, Permanent)
    LOG.warning(
        event,
        exc_info=None if is_expected else error,
        extra=place | {"error": type(error).__name__},
    )
