"""The small test stage (tests/stages.py) on a corner of the broker: started, and what it told."""

from collections import Counter
from pathlib import Path

from schemas.settings import Settings
from schemas.topics import Topic
from tests.logs import environ_of, records_in
from tests.processes import Process, clean_environ

Told = tuple[bytes | None, bytes | None]


def stage(settings: Settings, data: Path, **more: str) -> Process:
    """The stage with its stores in that folder, not started; `more` are settings of its own."""
    ours = environ_of(settings) | {"ONEREPLY_DATA_DIR": str(data)} | more
    return Process("tests.stages", environ=clean_environ(**ours))


def told(settings: Settings) -> Counter[Told]:
    """What was told, each thing with how often."""
    records = records_in(settings, Topic.THREAD_EVENTS)
    return Counter((record.key, record.value) for record in records)
