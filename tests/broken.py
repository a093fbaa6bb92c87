"""Stages with one rule broken, run as `python -m tests.broken RULE STAGE` in a real stage's place.

Each is the real stage, with one of the functions that it hands to the runtime replaced. Production
code knows nothing of this.
"""

import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from signal import SIGTERM, signal
from typing import Any, Final

import msgspec

from processors.__main__ import read_directory
from processors.core.dedupe import SEEN
from processors.core.intake import event_key_of
from processors.core.reorder_release import emit_ordered
from processors.core.requests import PostCall
from processors.core.turn import Effect, Record, Turn
from processors.runtime.stage import Lease, Stage, no_keys
from processors.runtime.steps import NoHalt
from processors.runtime.worker import Worker
from schemas.codec import to_json
from schemas.events import MAIL_KINDS, THREAD_EVENT, OrderedEvent, Position
from schemas.logs import setup_logging
from schemas.settings import load_settings
from schemas.startup import wait_for_cluster

Breaking = Callable[[Stage], Stage]


def new_key_each_time(stage: Stage) -> Stage:
    """SEND without an idempotency key: the provider cannot know a repeated post again."""
    real = stage.perform
    assert real is not None

    async def perform(effect: Effect, lease: Lease) -> Any:
        """Call under a key that only this attempt has."""
        call = effect.request
        if isinstance(call, PostCall):
            key = f"{call.idempotency_key}-{effect.attempt}"
            effect = effect._replace(request=replace(call, idempotency_key=key))
        return await real(effect, lease)

    return replace(stage, perform=perform)


def forgetful(stage: Stage) -> Stage:
    """DEDUPE that forgets each event as soon as it has passed it on."""

    def on_record(record: Record, turn: Turn) -> None:
        """Decide, and keep nothing of it."""
        stage.on_record(record, turn)
        turn.delete(SEEN, event_key_of(record))

    return replace(stage, on_record=on_record)


def mail_of_the_delivery(stage: Stage) -> Stage:
    """REORDER that takes each event for a mail of its own."""

    def on_record(record: Record, turn: Turn) -> None:
        """Decide as if the mail had an id that nobody has seen before."""
        event = THREAD_EVENT.decode(record.value)
        if event.kind in MAIL_KINDS and event.message_id is not None:
            own = f"{event.message_id}#{record.offset}"
            event = msgspec.structs.replace(event, message_id=own)
        stage.on_record(record._replace(value=to_json(event)), turn)

    return replace(stage, on_record=on_record, keys=no_keys)


def as_it_comes(stage: Stage) -> Stage:
    """REORDER that passes each mail on in the order in which it arrives."""

    def on_record(record: Record, turn: Turn) -> None:
        """Pass a mail on at once; facts go their usual way."""
        event = THREAD_EVENT.decode(record.value)
        if event.kind not in MAIL_KINDS:
            stage.on_record(record, turn)
            return
        position = Position(occurred_at_ns=event.occurred_at_ns, tie=event.message_id or "")
        ordered = OrderedEvent(event=event, position=position, released="opening")
        emit_ordered(turn, ordered, turn.mark)

    return replace(stage, on_record=on_record, keys=no_keys)


# One rule is one promise, wherever it is kept: a copy of a mail is known again by its event in
# DEDUPE and by its identity in REORDER, and either of them alone is enough.
BROKEN: Final[Mapping[str, Mapping[str, Breaking]]] = {
    "key": {"send": new_key_each_time},
    "dedupe": {"dedupe": forgetful, "reorder": mail_of_the_delivery},
    "reorder": {"reorder": as_it_comes},
}


def commands(rule: str) -> dict[str, tuple[str, ...]]:
    """What to run instead of the real stages to have this rule broken."""
    return {stage: ("tests.broken", rule, stage) for stage in BROKEN[rule]}


def main(rule: str, name: str) -> None:
    """Run the stage with the rule broken, until SIGTERM."""
    setup_logging(name)
    settings = load_settings()
    stopping = threading.Event()
    signal(SIGTERM, lambda *_: stopping.set())
    wait_for_cluster(settings, stopping)
    real: Stage = import_module(f"processors.{name}").build(settings, read_directory(settings))
    Worker(BROKEN[rule][name](real), settings, NoHalt()).run(stopping.is_set)


if __name__ == "__main__":
    main(*sys.argv[1:])
