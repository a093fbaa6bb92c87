"""A customer's webhook endpoint, for as long as a test needs one.

Owns: keeping what was delivered, and answering as told.
May not: verify; the test does.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

# How soon a server of the standard library notices that it should stop.
POLL_SECONDS = 0.02


class Endpoint:
    """A customer's endpoint: keeps what it got, and answers the given statuses in turn."""

    def __init__(self, *statuses: int) -> None:
        self.requests: list[tuple[dict[str, str], bytes]] = []
        self._statuses = list(statuses)
        self.url = ""

    def answer(self, headers: dict[str, str], body: bytes) -> int:
        """Keep the request; the next status, the last of them for ever."""
        self.requests.append((headers, body))
        return self._statuses.pop(0) if len(self._statuses) > 1 else self._statuses[0]


@contextmanager
def listening(*statuses: int) -> Iterator[Endpoint]:
    """An endpoint that listens for as long as the block lasts."""
    endpoint = Endpoint(*(statuses or (204,)))

    class Handler(BaseHTTPRequestHandler):
        """Hands each POST to the endpoint."""

        def do_POST(self) -> None:
            """Answer one delivery."""
            body = self.rfile.read(int(self.headers["content-length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            self.send_response(endpoint.answer(headers, body))
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_arguments: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        endpoint.url = f"http://127.0.0.1:{server.server_port}/hook"
        thread = Thread(target=server.serve_forever, args=(POLL_SECONDS,), daemon=True)
        thread.start()
        yield endpoint
        server.shutdown()
        thread.join()
