"""The door as a process of its own, and what it leaves in the log."""

import json
import os
import queue
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx
import msgspec
from confluent_kafka import Consumer, TopicPartition

from schemas.cluster import consumer_config
from schemas.settings import Settings, load_settings
from schemas.topics import Topic
from tests.doors import DIRECTORY, SECRET_A, signed

# Ten times what a start takes on a busy machine.
DEADLINE_S = 30.0


def settings_for(servers: str, prefix: str) -> Settings:
    """The settings of a test's corner of the broker."""
    return load_settings(bootstrap_servers=servers, topic_prefix=prefix, durability="single-node")


def environ_for(settings: Settings) -> dict[str, str]:
    """The same for a process."""
    return {
        "ONEREPLY_BOOTSTRAP_SERVERS": settings.bootstrap_servers,
        "ONEREPLY_TOPIC_PREFIX": settings.topic_prefix,
    }


class DoorProcess:
    """`python -m ingest` with these settings, from its start until it is told to stop."""

    def __init__(self, folder: Path, *, directory: str = DIRECTORY, **environ: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._config = folder / "onereply.toml"
        self._config.write_text(directory, encoding="utf-8")
        self._environ = {
            name: value for name, value in os.environ.items() if not name.startswith("ONEREPLY_")
        } | {
            "ONEREPLY_CONFIG_FILE": str(self._config),
            "ONEREPLY_DURABILITY": "single-node",
            "ONEREPLY_LISTEN_PORT": "0",
            "SECRET": SECRET_A,
            **environ,
        }
        self.lines: list[str] = []
        self._unread: queue.Queue[str | None] = queue.Queue()
        self._process: subprocess.Popen[str] | None = None
        self._client = httpx.Client(timeout=DEADLINE_S)
        self.url = ""

    def __enter__(self) -> Self:
        self.start()
        self.url = self.wait_for("door open")["url"]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._client.close()
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def start(self) -> None:
        """Start it and listen to what it says."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "ingest"],
            env=self._environ,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        threading.Thread(target=self._listen, args=(self._process,), daemon=True).start()

    def wait_for(self, event: str) -> dict[str, Any]:
        """The fields of the first log line with this event from now on."""
        give_up_at_s = time.monotonic() + DEADLINE_S
        while True:
            line = self._unread.get(timeout=max(0.0, give_up_at_s - time.monotonic()))
            assert line is not None, f"ended before `{event}`: {self.lines}"
            fields: dict[str, Any] = json.loads(line) if line.startswith("{") else {}
            if fields.get("event") == event:
                return fields

    def terminate(self) -> None:
        """Send SIGTERM."""
        assert self._process is not None
        self._process.terminate()

    def ended(self) -> int:
        """The exit code, once it has ended."""
        assert self._process is not None
        return self._process.wait(DEADLINE_S)

    def deliver(self, body: bytes, **sign: Any) -> httpx.Response:
        """The answer to a genuine delivery, signed now."""
        headers = signed(body, at_s=int(time.time()), **sign)
        return self._client.post(self.url + "/webhooks/agentmail", content=body, headers=headers)

    def get(self, path: str) -> httpx.Response:
        """One of the pages beside the deliveries."""
        return self._client.get(self.url + path)

    def everything_said(self) -> list[str]:
        """All lines of a door that has ended."""
        while self._unread.get(timeout=DEADLINE_S) is not None:
            pass
        return self.lines

    def _listen(self, process: subprocess.Popen[str]) -> None:
        assert process.stderr is not None
        for line in process.stderr:
            self.lines.append(line.rstrip())
            self._unread.put(line)
        process.stderr.close()
        self._unread.put(None)


class Stored(msgspec.Struct, frozen=True, kw_only=True):
    """A record as it lies in a topic."""

    partition: int
    key: bytes
    value: bytes
    headers: dict[str, bytes]


def records_in(settings: Settings, topic: str) -> list[Stored]:
    """All records of a topic from its start to its present end, partition after partition."""
    consumer = Consumer(consumer_config(settings, group="tests") | {"enable.partition.eof": True})
    try:
        found = consumer.list_topics(topic, DEADLINE_S).topics[topic].partitions
        starts = [TopicPartition(topic, number, 0) for number in found]
        consumer.assign(starts)
        records, ended = [], 0
        while ended < len(starts):
            record = consumer.poll(DEADLINE_S)
            assert record is not None, f"{topic} was not read to its end"
            if record.error() is None:
                records.append(_stored(record))
            else:
                ended += 1
        return records
    finally:
        consumer.close()


def inbound(settings: Settings) -> list[Stored]:
    """What the door has stored so far."""
    return records_in(settings, settings.shape().name(Topic.INBOUND_EVENTS))


def keys_in(settings: Settings) -> set[bytes]:
    """The keys of what the door has stored so far."""
    return {record.key for record in inbound(settings)}


def _stored(record: Any) -> Stored:
    return Stored(
        partition=record.partition(),
        key=record.key(),
        value=record.value(),
        headers=dict(record.headers()),
    )
