"""A door without a network: real sources, verifier and parser, and a log that is a list."""

import asyncio
import hmac
import json
import uuid
from base64 import b64decode, b64encode
from datetime import timedelta
from tempfile import TemporaryFile
from typing import Any

import msgspec
from hypothesis import settings
from starlette.types import ASGIApp, Message, Receive

from ingest.app import create_app
from ingest.body import OpenFile, Reader, Room
from ingest.endpoint import Clock, Door, Means
from ingest.fetching import Fetch, fetch
from ingest.health import Health
from ingest.large import Keep, LargeBodies
from ingest.metrics import Metrics
from ingest.records import Inbound
from ingest.sources import OpenSources, open_sources
from schemas.blobs import BlobStore
from schemas.directory import parse_directory

# Two test keys, and an instant at which everything in these tests is signed.
SECRET_A = "whsec_c3ludGhldGljLWtleS1BLTAxMjM0NTY3ODlhYmNkZWY="
SECRET_B = "whsec_c3ludGhldGljLWtleS1CLWZlZGNiYTk4NzY1NDMyMTA="
NOW_S = 1_767_607_200  # 2026-01-05T10:00:00Z

# A drawn example may take long on a busy machine; that is no finding.
UNHURRIED = settings(deadline=None)

DIRECTORY = """
[workspaces.main]
[workspaces.other]
[inboxes."support@inbox.example"]
workspace = "main"
[inboxes."billing@inbox.example"]
workspace = "main"
[inboxes."theirs@inbox.example"]
workspace = "other"
[sources.agentmail]
provider = "agentmail"
workspace = "main"
secrets = ["SECRET"]
"""

HeaderList = list[tuple[bytes, bytes]]


class ListedLog:
    """Keeps what is published. `refuse` with an exception, and it raises that instead."""

    def __init__(self) -> None:
        self.records: list[Inbound] = []
        self.refuse: Exception | None = None

    async def publish(self, record: Inbound) -> None:
        """Keep the record."""
        if self.refuse is not None:
            raise self.refuse
        self.records.append(record)


class HandClock:
    """Both clocks of a door, moved by hand."""

    def __init__(self) -> None:
        self.at_s = float(NOW_S)

    def read(self) -> float:
        """The instant."""
        return self.at_s


class Reply(msgspec.Struct, frozen=True):
    """What came back."""

    status: int
    headers: dict[bytes, bytes]
    body: bytes

    @property
    def reason(self) -> str | None:
        """The reason in the body, None when the body is empty."""
        return json.loads(self.body)["reason"] if self.body else None


class LocalDoor:
    """A door, its log and its clock."""

    def __init__(
        self,
        directory: str = DIRECTORY,
        environ: dict[str, str] | None = None,
        *,
        fetch: Fetch = fetch,
        **limits: Any,
    ) -> None:
        self.log, self.clock, self.metrics = ListedLog(), HandClock(), Metrics()
        self.is_reachable = True
        self.sources = self._sources(directory, environ or {"SECRET": SECRET_A}, fetch)
        door = Door(
            self.sources,
            self._means(**limits),
            clock=Clock(self.clock.read, self.clock.read),
            metrics=self.metrics,
        )
        health = Health(self._reach, metrics=self.metrics, steady_s=self.clock.read)
        self.app: ASGIApp = create_app(door, health, self.metrics)

    def ask(
        self,
        body: bytes | Receive,
        *,
        method: str = "POST",
        path: str = "/webhooks/agentmail",
        headers: HeaderList | None = None,
    ) -> Reply:
        """The answer to one request with this body, or one that arrives like this."""
        receive = arriving(body) if isinstance(body, bytes) else body
        answer = exchange(self.app, receive, method=method, path=path, headers=headers or [])
        return asyncio.run(answer)

    def deliver(self, body: bytes, **sign: Any) -> Reply:
        """The answer to a genuine delivery of this body."""
        return self.ask(body, headers=signed(body, **sign))

    def _means(
        self,
        *,
        body_bytes: int = 64 * 1024,
        body_deadline: timedelta = timedelta(seconds=10),
        room_bytes: int = 64 * 1024 * 1024,
        in_hand: int = 100,
        open_file: OpenFile = TemporaryFile,
        blobs: str = "",
    ) -> Means:
        self.blobs = BlobStore(blobs or f"memory://{uuid.uuid4().hex}")
        self.room = Room(room_bytes)
        reader = Reader(
            limit_bytes=body_bytes, deadline=body_deadline, room=self.room, open_file=open_file
        )
        keep = Keep(store=self.blobs, folder="cluster/inbound-events")
        return Means(
            reader=reader,
            large=LargeBodies(keep, deadline=timedelta(seconds=10)),
            publish=self.log.publish,
            in_hand=in_hand,
        )

    @staticmethod
    def _sources(directory: str, environ: dict[str, str], fetch: Fetch) -> OpenSources:
        return OpenSources(open_sources(parse_directory(directory), environ, fetch=fetch))

    async def _reach(self) -> bool:
        return self.is_reachable


async def exchange(
    app: ASGIApp, receive: Receive, *, method: str, path: str, headers: HeaderList
) -> Reply:
    """The answer to one request, as a server would hand it over."""
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    await app(_scope(method, path, headers), receive, send)
    start, *rest = sent
    body = b"".join(each.get("body", b"") for each in rest)
    return Reply(start["status"], dict(start["headers"]), body)


def arriving(*chunks: bytes) -> Receive:
    """A body in these chunks; after them the sender hangs up."""
    last = len(chunks) - 1
    waiting: list[Message] = [
        {"type": "http.request", "body": chunk, "more_body": number < last}
        for number, chunk in enumerate(chunks)
    ]

    async def receive() -> Message:
        return waiting.pop(0) if waiting else {"type": "http.disconnect"}

    return receive


async def never() -> Message:
    """A body that does not come."""
    await asyncio.get_running_loop().create_future()
    return {"type": "http.disconnect"}


def _scope(method: str, path: str, headers: HeaderList) -> dict[str, Any]:
    return {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "scheme": "http",
        "http_version": "1.1",
        "headers": [(name.lower(), value) for name, value in headers],
    }


def signature(
    body: bytes, *, secret: str = SECRET_A, delivery_id: str = "msg_1", at_s: int = NOW_S
) -> bytes:
    """The v1 signature, computed here apart from the product's way."""
    text = secret.removeprefix("whsec_")
    key = b64decode(text + "=" * (-len(text) % 4))
    data = b".".join((delivery_id.encode(), str(at_s).encode(), body))
    return b"v1," + b64encode(hmac.digest(key, data, "sha256"))


def signed(
    body: bytes,
    *,
    secret: str = SECRET_A,
    delivery_id: str = "msg_1",
    at_s: int = NOW_S,
    prefix: str = "svix",
) -> HeaderList:
    """The headers of a genuine delivery of this body."""
    name = prefix.encode()
    proof = signature(body, secret=secret, delivery_id=delivery_id, at_s=at_s)
    return [
        (name + b"-id", delivery_id.encode()),
        (name + b"-timestamp", str(at_s).encode()),
        (name + b"-signature", proof),
        (b"content-type", b"application/json"),
    ]
