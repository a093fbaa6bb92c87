"""Large webhooks at a real door, and what DEDUPE reads of them, on a real broker."""

import socket
import threading
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Self

import httpx
import psutil
import pytest

from schemas.blobs import BLOB_REFERENCE, store_of
from schemas.codec import to_json
from schemas.events import THREAD_EVENT, ThreadEvent
from schemas.settings import Settings
from schemas.topics import INLINE_LIMIT_BYTES, Topic
from tests.deduping import corner_of_dedupe, dedupe
from tests.door_process import DoorProcess
from tests.doors import SECRET_A, signed
from tests.logs import await_records, environ_of, records_in
from tests.payloads import a_message, an_event
from tests.pipeline import INBOXES
from tests.processes import DEADLINE_S

MIB = 1024 * 1024
# Postmark's own limit is 35 MB (attachments inline, in base64).
POSTMARK_BYTES = 35_000_000


@pytest.fixture(scope="module")
def settings(broker: str, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Topics, a store and a directory that this module has for itself."""
    prefix = f"t{uuid.uuid4().hex[:12]}-"
    return corner_of_dedupe(broker, prefix, tmp_path_factory.mktemp("large"))


@pytest.fixture(scope="module")
def door(settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DoorProcess]:
    """An open door, with the time that a busy machine needs."""
    environ = environ_of(settings) | {
        "ONEREPLY_BLOB_DEADLINE_MS": "60000",
        "TEST_SECRET": SECRET_A,
    }
    folder = tmp_path_factory.mktemp("door")
    with DoorProcess(folder, **environ) as door:
        yield door


def a_large_event(event_id: str, size_bytes: int) -> bytes:
    """An event of exactly this size, by an attachment as Postmark inlines it."""
    message = a_message(inbox_id=INBOXES[0], message_id=f"<{event_id}@customer.example>")
    content = {"filename": "a.pdf", "content": ""}
    bare = an_event(event_id=event_id, message=message | {"attachments": [content]})
    filling = b"QUJD" * (size_bytes // 4 + 1)
    head, mark, tail = bare.rpartition(b'"content":"')
    return head + mark + filling[: size_bytes - len(bare)] + tail


def post(door: DoorProcess, body: bytes) -> bytes:
    """The first line of the answer to a genuine delivery, by a client that costs little."""
    headers = signed(body, at_s=int(time.time()))
    lines = b"".join(name + b": " + value + b"\r\n" for name, value in headers)
    url = httpx.URL(door.url)
    with socket.create_connection((url.host, url.port or 0), DEADLINE_S) as sock:
        sock.sendall(
            b"POST /webhooks/agentmail HTTP/1.1\r\nhost: x\r\n%scontent-length: %d\r\n\r\n"
            % (lines, len(body))
        )
        sock.sendall(body)
        return sock.recv(4096).split(b"\r\n", 1)[0]


class Highest:
    """The most memory that a process had resident while the block lasted, in bytes."""

    def __init__(self, pid: int) -> None:
        self._process = psutil.Process(pid)
        self.before = self.most = self._process.memory_info().rss
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._is_over.wait(0.005):
            self.most = max(self.most, self._process.memory_info().rss)


def test_twenty_of_35_mb_at_once_are_kept_whole_in_little_memory(
    door: DoorProcess, settings: Settings
) -> None:
    """A provider that inlines attachments must not need a process of a gigabyte."""
    assert door.deliver(an_event(message=a_message(inbox_id=INBOXES[0]))).status_code == 204
    bodies = {
        f"evt_35_{each}": a_large_event(f"evt_35_{each}", POSTMARK_BYTES) for each in range(20)
    }

    with Highest(door.pid) as highest, ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda body: post(door, body), bodies.values()))

    records = {record.key: record for record in records_in(settings, Topic.INBOUND_EVENTS)}
    store = store_of(settings)
    for event_id, body in bodies.items():
        reference = BLOB_REFERENCE.decode(records[f"agentmail/{event_id}".encode()].value)
        assert store.read(reference) == body
    assert answers == [b"HTTP/1.1 204 No Content"] * 20
    assert (highest.most - highest.before) / MIB < 100


def test_dedupe_reads_the_body_that_the_door_kept(door: DoorProcess, settings: Settings) -> None:
    """A large mail goes the way of every mail: its words, cut to what a record holds, and facts."""
    text = "é" * INLINE_LIMIT_BYTES
    body = an_event(
        event_id="evt_words",
        message=a_message(inbox_id=INBOXES[0], message_id="<words@customer.example>", text=text),
    )
    assert door.deliver(body).status_code == 204

    with dedupe(settings) as process:
        event = of_event(settings, "evt_words")
        assert process.terminate() == 0

    assert (event.message_id, event.subject, event.is_truncated) == (
        "words@customer.example",
        "Question",
        True,
    )
    assert event.text == text[: len(event.text or "")]
    assert len(to_json(event)) > INLINE_LIMIT_BYTES * 0.99


def of_event(settings: Settings, event_id: str) -> ThreadEvent:
    """What DEDUPE made of it, as soon as it is there."""
    for number in range(1, 100):
        records = await_records(settings, Topic.THREAD_EVENTS, number)
        events = map(THREAD_EVENT.decode, (record.value for record in records))
        if found := [event for event in events if event.event_id == event_id]:
            return found[0]
    raise AssertionError(event_id)


def test_blob_that_is_gone_or_altered_is_a_dead_letter_and_holds_nothing_up(
    broker: str, prefix: str, tmp_path: Path
) -> None:
    """A person can bring the body back and send the record again; the others go on."""
    settings = corner_of_dedupe(broker, prefix, tmp_path)
    environ = environ_of(settings) | {"TEST_SECRET": SECRET_A}
    with DoorProcess(tmp_path / "door", **environ) as door:
        for name in ("evt_gone", "evt_altered", "evt_whole"):
            body = a_large_event(name, INLINE_LIMIT_BYTES + 1)
            assert door.deliver(body).status_code == 204
    records = {record.key: record for record in records_in(settings, Topic.INBOUND_EVENTS)}
    store = store_of(settings)
    for name in ("evt_gone", "evt_altered"):
        reference = BLOB_REFERENCE.decode(records[f"agentmail/{name}".encode()].value)
        store.remove(reference.address)
        if name == "evt_altered":
            store.keep(reference, iter([b"y" * reference.size_bytes]))

    with dedupe(settings) as process:
        (event,) = await_records(settings, Topic.THREAD_EVENTS, 1)
        assert process.terminate() == 0

    dead = records_in(settings, Topic.DEAD_LETTERS)
    assert THREAD_EVENT.decode(event.value).event_id == "evt_whole"
    assert [each.headers["onereply-dead-error"] for each in dead] == [b"BlobGone"] * 2
    assert {each.key: each.value for each in dead} == {
        key: records[key].value for key in (b"agentmail/evt_gone", b"agentmail/evt_altered")
    }


def test_dedupe_waits_for_a_store_that_is_away(broker: str, prefix: str, tmp_path: Path) -> None:
    """A disk that is not mounted is nobody's dead letter."""
    settings = corner_of_dedupe(broker, prefix, tmp_path)
    environ = environ_of(settings) | {"TEST_SECRET": SECRET_A}
    with DoorProcess(tmp_path / "door", **environ) as door:
        assert door.deliver(a_large_event("evt_1", INLINE_LIMIT_BYTES + 1)).status_code == 204
    blobs = Path(store_of(settings).url)
    blobs.rename(tmp_path / "elsewhere")

    with dedupe(settings) as process:
        code = process.ended()
        (tmp_path / "elsewhere").rename(blobs)
        process.start()
        (event,) = await_records(settings, Topic.THREAD_EVENTS, 1)
        assert process.terminate() == 0

    assert code == 3
    assert THREAD_EVENT.decode(event.value).event_id == "evt_1"
    assert records_in(settings, Topic.DEAD_LETTERS) == []


def test_door_without_room_for_blobs_is_503_and_stores_nothing(
    settings: Settings, tmp_path: Path
) -> None:
    """The sender comes again; and what is small goes on."""
    (tmp_path / "file").touch()
    environ = environ_of(settings) | {
        "ONEREPLY_BLOB_URL": str(tmp_path / "file" / "blobs"),
        "TEST_SECRET": SECRET_A,
    }
    with DoorProcess(tmp_path / "door", **environ) as door:
        away = door.deliver(a_large_event("evt_away", INLINE_LIMIT_BYTES + 1))
        small = door.deliver(a_large_event("evt_small", INLINE_LIMIT_BYTES))

    keys = {record.key for record in records_in(settings, Topic.INBOUND_EVENTS)}
    assert (away.status_code, away.json()["reason"]) == (503, "blob-store-away")
    assert (away.headers["retry-after"], small.status_code) == ("30", 204)
    assert b"agentmail/evt_small" in keys
    assert b"agentmail/evt_away" not in keys
