"""One decision on one record, timer or result: all of what it wants, or nothing.

Owns: what is taken back when a decision fails, what travels with the outputs of a record, and
that nothing is kept which Kafka would refuse for its size.
May not: set aside; who asked for the decision does.
"""

import logging
from collections.abc import Callable
from typing import Final

from processors.core.turn import MAX_WRITTEN_BYTES, Output, Record, Turn, size_of
from processors.runtime.overlay import Overlay
from schemas.errors import Permanent, TooLarge, Transient
from schemas.headers import ORIGIN, TRACE, Headers

LOG: Final = logging.getLogger("processors.batch")

_CARRIED: Final = frozenset({TRACE})


def attempt(decide: Callable[[], None], overlay: Overlay, turn: Turn) -> Exception | None:
    """Decide. What it raised, if it did: then nothing is left of what it wrote or wanted.

    Raises what is nobody's own fault: Transient, and a lack of memory.
    """
    overlay.savepoint()
    outputs, effects = len(turn.outputs), len(turn.effects)
    try:
        decide()
        if len(turn.outputs) > outputs:
            turn.outputs[outputs:] = _complete(turn.outputs[outputs:], turn.record)
    except (Transient, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001  # the one place: whatever it is, it is this decision's
        overlay.undo()
        del turn.outputs[outputs:], turn.effects[effects:]
        return error
    return None


def _complete(outputs: list[Output], record: Record | None) -> list[Output]:
    """The outputs with what goes along with them. Raises TooLarge."""
    if record is not None:
        carried = _carried(record)
        outputs = [each._replace(headers=(*each.headers, *carried)) for each in outputs]
    for output in outputs:
        if (size := size_of(output)) > MAX_WRITTEN_BYTES:
            raise TooLarge(f"{output.topic} record of {size} bytes, headers included")
    return outputs


def _carried(record: Record) -> Headers:
    """What goes along with every output of a record: where it came from, and its trace."""
    origin = f"{record.topic}/{record.partition}/{record.offset}".encode()
    trace = tuple((name, value) for name, value in record.headers if name in _CARRIED)
    return ((ORIGIN, origin), *trace)


def log_dead(event: str, error: Exception, **place: str | int) -> None:
    """Say that something was set aside: where it stands and what kind of fault, never its bytes."""
    is_expected = isinstance(error, Permanent)
    LOG.warning(
        event,
        exc_info=None if is_expected else error,
        extra=place | {"error": type(error).__name__},
    )
