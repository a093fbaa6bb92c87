"""DEDUPE: everything from outside in, each event once out, in the common shape.

Owns: the binding of the core to the runtime and to the store of large bodies, and which provider's
bodies which module reads.
May not: decide.
"""

from collections.abc import Mapping
from typing import Final

from processors.core.dedupe import STAGE, Dedupe, Read
from processors.core.intake import Sources
from processors.core.turn import Record, Turn
from processors.providers import agentmail
from processors.runtime.stage import Stage
from processors.whole import weight, whole
from schemas.blobs import store_of
from schemas.directory import Directory
from schemas.settings import Settings
from schemas.topics import Topic

READERS: Final[Mapping[str, Read]] = {"agentmail": agentmail.read}


def build(settings: Settings, directory: Directory) -> Stage:
    """The stage, ready to run."""
    dedupe = Dedupe(Sources(directory), READERS, horizon_ms=settings.dedupe_horizon_s * 1000)
    store = store_of(settings)

    def on_record(record: Record, turn: Turn) -> None:
        dedupe.on_record(whole(record, store), turn)

    return Stage(
        name=STAGE,
        input=Topic.INBOUND_EVENTS,
        changelog=Topic.DEDUPE_STATE,
        on_record=on_record,
        keys=dedupe.keys,
        weight=weight,
    )
