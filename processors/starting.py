"""What may go wrong before a stage's loop begins: options that no client takes, a slow broker.

Owns: how long a process tries to begin, and the sentence for options that were refused.
May not: build anything itself.
"""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event
from typing import Final, TypeVar

from confluent_kafka import KafkaError, KafkaException

from schemas.errors import SettingsError, Transient
from schemas.startup import BROKER_PAUSE_S, BROKER_WAIT_S

LOG: Final = logging.getLogger("processors")

BuiltT = TypeVar("BuiltT")


@contextmanager
def options_checked() -> Iterator[None]:
    """Within this block clients are made. Raises SettingsError for options that they refuse."""
    try:
        yield
    except KafkaException as error:
        # Ours are the same in every test: what is refused was set by the user.
        if error.args[0].code() != KafkaError._INVALID_ARG:  # noqa: SLF001  # the library's public constant has this name
            raise
        raise SettingsError([f"ONEREPLY_KAFKA_OPTIONS: {error.args[0].str()}"]) from error


def once_answered(
    build: Callable[[], BuiltT], stopping: Event, *, wait_s: float = BROKER_WAIT_S
) -> BuiltT | None:
    """What is built, once the broker answers all that it takes; None when told to stop.

    A broker that has answered a look may still be slow with the next question. Raises Transient
    when it stays so.
    """
    give_up_at_s = time.monotonic() + wait_s
    while not stopping.is_set():
        try:
            return build()
        except Transient as error:
            if time.monotonic() >= give_up_at_s:
                raise
            LOG.warning("broker awaited", extra={"reason": str(error)})
            stopping.wait(BROKER_PAUSE_S)
    return None
