"""`onereply blobs sweep` after a door that died, on a real broker."""

import shutil
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any

import httpx
import pytest
from confluent_kafka import Producer

from ops.blobs import named_in_log
from schemas.blobs import BLOB_REFERENCE, BlobStore, BodySum, folder_in, reference_to, store_of
from schemas.cluster import cluster_id_of, create_topics, producer_config
from schemas.codec import to_json
from schemas.errors import Transient
from schemas.headers import BODY
from schemas.keys import EventKey
from schemas.settings import Settings
from schemas.topics import INLINE_LIMIT_BYTES, Topic
from tests.commands import as_json, onereply
from tests.door_process import DoorProcess
from tests.logs import corner, environ_of, records_in
from tests.payloads import a_message, an_event
from tests.processes import DEADLINE_S

LONG_AGO = datetime.now(UTC).date() - timedelta(days=2)


@pytest.fixture
def settings(broker: str, prefix: str, tmp_path: Path) -> Settings:
    """Topics and a store that a test has for itself."""
    settings = corner(broker, prefix, data_dir=str(tmp_path / "data"))
    create_topics(settings)
    return settings


def swept(settings: Settings, *arguments: str) -> dict[str, Any]:
    """What the command says to scripts."""
    told = onereply("blobs", "sweep", "--json", *arguments, **environ_of(settings))
    assert told.returncode == 0, told.stderr
    return as_json(told)


def a_large_event(event_id: str) -> bytes:
    """An event that does not fit a record."""
    return an_event(event_id=event_id, message=a_message(text="x" * INLINE_LIMIT_BYTES))


def test_blob_of_a_door_that_died_before_its_record_is_swept(
    settings: Settings, tmp_path: Path
) -> None:
    """Nobody ever names it; and what a record names stays."""
    store, folder = store_of(settings), folder_in(settings, cluster_id_of(settings))
    environ = environ_of(settings)
    dying = DoorProcess(tmp_path, module="tests.dying_door", **environ)
    with dying, pytest.raises(httpx.TransportError):
        dying.deliver(a_large_event("evt_lost"))
    with DoorProcess(tmp_path, **environ) as door:
        assert door.deliver(a_large_event("evt_kept")).status_code == 204
    kept = named_by(settings)
    today = store.days(folder)
    let_days_pass(store, folder)
    old = put_of_long_ago(settings, store, folder)

    plan = swept(settings)
    done = swept(settings, "--execute")

    assert sorted(map(len, today.values())) == [2]
    (orphan,) = plan["orphans"]
    assert orphan.endswith(f"-{sha256(a_large_event('evt_lost')).hexdigest()}")
    assert (plan["removed"], done["removed"], done["orphans"]) == (False, True, [orphan])
    assert sorted(chain.from_iterable(store.days(folder).values())) == sorted([*kept, old])
    assert swept(settings)["orphans"] == []


def named_by(settings: Settings) -> list[str]:
    """The addresses in the log."""
    return [
        BLOB_REFERENCE.decode(record.value).address
        for record in records_in(settings, Topic.INBOUND_EVENTS)
    ]


def let_days_pass(store: BlobStore, folder: str) -> None:
    """The orphan as it lies two days later; the other's record would have to be as old."""
    (found,) = Path(store.url, folder).iterdir()
    (Path(store.url, folder) / LONG_AGO.isoformat()).mkdir()
    lost = sha256(a_large_event("evt_lost")).hexdigest()
    for path in found.iterdir():
        if path.name.endswith(lost):
            shutil.move(path, Path(store.url, folder) / LONG_AGO.isoformat())


def put_of_long_ago(settings: Settings, store: BlobStore, folder: str) -> str:
    """The address of a blob of that day that a record names."""
    body = a_large_event("evt_old")
    known = BodySum(len(body), sha256(body).hexdigest())
    reference = reference_to(known, of=EventKey("agentmail/evt_old"), folder=folder, on=LONG_AGO)
    store.keep(reference, iter([body]))
    producer = Producer(producer_config(settings))
    producer.produce(
        settings.shape().name(Topic.INBOUND_EVENTS),
        to_json(reference),
        key="agentmail/evt_old",
        headers=[(BODY, b"blob")],
    )
    assert producer.flush(DEADLINE_S) == 0
    return reference.address


def test_log_that_is_not_there_names_nothing_and_frees_nothing(broker: str, prefix: str) -> None:
    """What no record names is known only once every record was read."""
    with pytest.raises(Transient, match="there is no topic"):
        named_in_log(corner(broker, prefix))
