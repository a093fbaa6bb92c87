"""The door as a process of its own, and what it leaves in the log."""

import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

from schemas.settings import Settings
from schemas.topics import Topic
from tests.doors import DIRECTORY, SECRET_A, signed
from tests.logs import records_in
from tests.processes import DEADLINE_S, Process, clean_environ


class DoorProcess(Process):
    """`python -m ingest` with these settings. A context opens it; `start` alone only starts it.

    `module` runs in its place.
    """

    def __init__(
        self,
        folder: Path,
        *,
        directory: str = DIRECTORY,
        module: str = "ingest",
        **environ: str,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        config = folder / "onereply.toml"
        config.write_text(directory, encoding="utf-8")
        given = {
            "ONEREPLY_CONFIG_FILE": str(config),
            "ONEREPLY_DATA_DIR": str(folder / "data"),
            "ONEREPLY_DURABILITY": "single-node",
            "ONEREPLY_LISTEN_PORT": "0",
            "SECRET": SECRET_A,
        }
        super().__init__(module, environ=clean_environ(**given | environ))
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
        super().__exit__(kind, error, trace)

    def deliver(self, body: bytes, **sign: Any) -> httpx.Response:
        """The answer to a genuine delivery, signed now."""
        headers = signed(body, at_s=int(time.time()), **sign)
        return self._client.post(self.url + "/webhooks/agentmail", content=body, headers=headers)

    def get(self, path: str) -> httpx.Response:
        """One of the pages beside the deliveries."""
        return self._client.get(self.url + path)


def keys_in(settings: Settings) -> set[bytes | None]:
    """The keys of what the door has stored so far."""
    return {record.key for record in records_in(settings, Topic.INBOUND_EVENTS)}
