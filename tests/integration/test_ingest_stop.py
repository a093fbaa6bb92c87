"""The end of a door: what it still does, and what it leaves."""

import signal
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from schemas.cluster import create_topics
from schemas.settings import Settings
from tests.door_process import DoorProcess, keys_in
from tests.doors import signed
from tests.logs import corner, environ_of
from tests.payloads import an_event
from tests.processes import DEADLINE_S


@pytest.fixture
def settings(broker: str, prefix: str) -> Settings:
    """Topics that a test has for itself."""
    settings = corner(broker, prefix)
    create_topics(settings)
    return settings


def test_told_to_stop_it_finishes_what_is_in_hand(settings: Settings, tmp_path: Path) -> None:
    """A deployment must not cost an event, or answer one that it then forgets."""
    body = an_event(event_id="evt_in_hand")
    head = b"".join(
        name + b": " + value + b"\r\n" for name, value in signed(body, at_s=int(time.time()))
    )
    start = b"POST /webhooks/agentmail HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n" % len(body)
    with DoorProcess(tmp_path, **environ_of(settings)) as door:
        url = httpx.URL(door.url)
        with socket.create_connection((url.host, url.port or 0), DEADLINE_S) as sock:
            sock.sendall(start + head + b"\r\n" + body[:10])
            _until_in_hand(door)
            door.signal(signal.SIGTERM)
            _until_refused(door)
            sock.sendall(body[10:])
            answer = sock.recv(4096)
        code = door.ended()

    assert answer.startswith(b"HTTP/1.1 204")
    assert code == 0
    assert b"agentmail/evt_in_hand" in keys_in(settings)


def _until_in_hand(door: DoorProcess) -> None:
    give_up_at_s = time.monotonic() + DEADLINE_S
    while "onereply_door_in_hand 1.0" not in door.get("/metrics").text:
        assert time.monotonic() < give_up_at_s, "the delivery was not taken"


def _until_refused(door: DoorProcess) -> None:
    give_up_at_s = time.monotonic() + DEADLINE_S
    while time.monotonic() < give_up_at_s:
        try:
            httpx.get(door.url + "/healthz")
        except httpx.TransportError:
            return
    pytest.fail("the door is still open")


def test_stopped_under_load_every_accepted_event_is_there(
    settings: Settings, tmp_path: Path
) -> None:
    """Of many deliveries at once, each is either answered and stored, or will be sent again."""
    accepted: set[bytes] = set()
    stopping = threading.Event()

    def keep_delivering(door: DoorProcess, worker: int) -> None:
        for number in range(10_000):
            event_id = f"evt_load_{worker}_{number}"
            try:
                reply = door.deliver(an_event(event_id=event_id))
            except httpx.TransportError:
                return
            if reply.status_code == 204:
                accepted.add(f"agentmail/{event_id}".encode())
            if len(accepted) > 100:
                stopping.set()

    with DoorProcess(tmp_path, **environ_of(settings)) as door:
        with ThreadPoolExecutor(8) as pool:
            for worker in range(8):
                pool.submit(keep_delivering, door, worker)
            assert stopping.wait(DEADLINE_S)
            door.signal(signal.SIGTERM)
        closed = door.wait_for("door closed")
        code = door.ended()

    assert (code, closed["unacked_records"]) == (0, 0)
    assert accepted - keys_in(settings) == set()
