"""Large webhooks at a real door, and what DEDUPE reads of them, on a real broker."""

import socket
import threading
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Self

import httpx
import psutil
import pytest

from schemas.blobs import BLOB_REFERENCE, store_of
from schemas.settings import Settings
from schemas.topics import Topic
from tests.deduping import corner_of_dedupe
from tests.door_process import DoorProcess
from tests.doors import SECRET_A, signed
from tests.logs import environ_of, records_in
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
