"""The door as a process on a real broker."""

import socket
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from ops.kafka.broker import LocalKafka
from schemas.cluster import create_topics
from schemas.settings import Settings
from schemas.topics import Topic
from tests.broker import DATA_DIR
from tests.door_process import DoorProcess, keys_in
from tests.doors import signed
from tests.logs import corner, environ_of, records_in
from tests.payloads import INBOX, a_message, an_event
from tests.processes import DEADLINE_S


@pytest.fixture(scope="module")
def settings(broker: str) -> Settings:
    """Topics that this module has for itself."""
    settings = corner(broker, f"t{uuid.uuid4().hex[:12]}-")
    create_topics(settings)
    return settings


@pytest.fixture(scope="module")
def door(settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DoorProcess]:
    """An open door for bodies of up to a MiB."""
    environ = environ_of(settings) | {"ONEREPLY_MAX_BODY_BYTES": "1048576"}
    with DoorProcess(tmp_path_factory.mktemp("door"), **environ) as door:
        yield door


def test_accepted_delivery_is_in_the_log_byte_for_byte(
    door: DoorProcess, settings: Settings
) -> None:
    """2xx means that the sender forgets the event, so it has to be there, as it was signed."""
    body = an_event(event_id="evt_bytes", message=a_message(text="é \u2028 \ud83d", size=2**63))

    reply = door.deliver(body, delivery_id="msg_bytes")

    assert (reply.status_code, reply.content) == (204, b"")
    (record,) = [
        each
        for each in records_in(settings, Topic.INBOUND_EVENTS)
        if each.key == b"agentmail/evt_bytes"
    ]
    headers = {name: value or b"" for name, value in record.headers.items()}
    trace, received_at = headers.pop("traceparent"), headers.pop("onereply-received-at-ms")
    assert record.value == body
    assert headers == {
        "ce_specversion": b"1.0",
        "ce_id": b"evt_bytes",
        "ce_type": b"message.received",
        "ce_source": b"/sources/agentmail",
        "ce_subject": INBOX.encode(),
        "content-type": b"application/json",
        "onereply-provider": b"agentmail",
        "onereply-proof": b"body",
        "onereply-delivery": b"msg_bytes",
    }
    assert trace.startswith(b"00-")
    assert abs(int(received_at) / 1000 - time.time()) < 30


def test_repeats_are_answered_alike_and_keyed_alike(door: DoorProcess, settings: Settings) -> None:
    """Later stages find repeats by the key; the door only has to keep it the same."""
    body = an_event(event_id="evt_again")

    answers = {door.deliver(body, delivery_id=f"msg_{each}").status_code for each in range(3)}

    found = [
        record
        for record in records_in(settings, Topic.INBOUND_EVENTS)
        if record.key == b"agentmail/evt_again"
    ]
    assert answers == {204}
    assert len(found) == 3
    assert len({record.partition for record in found}) == 1


def test_refused_deliveries_leave_nothing(door: DoorProcess, settings: Settings) -> None:
    """A forged event must not be a record that some later stage believes."""
    before = len(records_in(settings, Topic.INBOUND_EVENTS))

    forged = door.deliver(an_event(event_id="evt_forged"), secret="whsec_" + "A" * 40)
    cut = door.deliver(an_event(event_id="evt_cut")[:-9])

    assert (forged.status_code, cut.status_code) == (400, 400)
    assert forged.json()["reason"] == "signature-wrong"
    assert len(records_in(settings, Topic.INBOUND_EVENTS)) == before


def test_header_names_in_any_case_are_the_same_headers(door: DoorProcess) -> None:
    """Proxies change them."""
    body = an_event()
    headers = [(name.title(), value) for name, value in signed(body, at_s=int(time.time()))]

    reply = httpx.post(door.url + "/webhooks/agentmail", content=body, headers=headers)

    assert reply.status_code == 204


def test_chunked_body_is_bounded_and_read_like_any(door: DoorProcess) -> None:
    """It declares no length, so only what really comes can be counted."""
    body = an_event(event_id="evt_chunked")
    headers = signed(body, at_s=int(time.time()))
    url = door.url + "/webhooks/agentmail"

    whole = httpx.post(
        url, content=(body[at : at + 7] for at in range(0, len(body), 7)), headers=headers
    )
    endless = httpx.post(url, content=(b" " * 65536 for _ in range(200)), headers=headers)

    assert (whole.status_code, endless.status_code) == (204, 413)


def test_body_far_above_the_limit_is_answered_413(door: DoorProcess) -> None:
    """The sender has to see the answer, not a broken pipe that it takes for a bad line."""
    body = an_event(message=a_message(text="a" * 12 * 1024 * 1024))

    assert door.deliver(body).status_code == 413
    assert door.deliver(an_event()).status_code == 204


HOSTILE = {
    "nonsense": b"\x00\xff\xfe nonsense\r\n\r\n",
    "tls": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "path": b"POST /webhooks/agentm\xc3\xa9l HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n",
    "escaped path": b"POST /webhooks/%00%ff%2f HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n",
    "signature": (
        b"POST /webhooks/agentmail HTTP/1.1\r\nhost: x\r\nsvix-id: m\r\nsvix-timestamp: 1\r\n"
        b"svix-signature: v1,\xc3\xa9\xff\r\ncontent-length: 2\r\n\r\n{}"
    ),
    "length": b"POST /webhooks/agentmail HTTP/1.1\r\nhost: x\r\ncontent-length: -5\r\n\r\n",
    "two lengths": (
        b"POST /webhooks/agentmail HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n"
        b"content-length: 3\r\n\r\n{}"
    ),
    "chunk": (
        b"POST /webhooks/agentmail HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n"
        b"zz\r\n{}\r\n0\r\n\r\n"
    ),
    "many headers": (
        b"POST /webhooks/agentmail HTTP/1.1\r\nhost: x\r\n"
        + b"x: y\r\n" * 5000
        + b"content-length: 0\r\n\r\n"
    ),
    "upgrade": (
        b"GET /webhooks/agentmail HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\n"
        b"upgrade: websocket\r\nsec-websocket-version: 13\r\n"
        b"sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    ),
}


@pytest.mark.parametrize("request_bytes", HOSTILE.values(), ids=HOSTILE)
def test_bytes_that_are_hardly_http_are_refused(door: DoorProcess, request_bytes: bytes) -> None:
    """Whatever scans the internet will find this port."""
    answer = _sent(door, request_bytes)

    status = int(answer.split(b" ", 2)[1])
    assert status in {400, 404, 405, 431}


def test_ready_and_metrics_are_served(door: DoorProcess) -> None:
    """The supervisor and Prometheus ask here."""
    door.deliver(an_event())

    assert door.get("/readyz").json() == {"ready": True}
    page = door.get("/metrics").text
    assert 'onereply_door_deliveries_total{outcome="accepted",source="agentmail"}' in page
    assert "onereply_door_in_hand 0.0" in page


def _sent(door: DoorProcess, data: bytes) -> bytes:
    """What comes back for these bytes, up to the first pause or the end."""
    url = httpx.URL(door.url)
    with socket.create_connection((url.host, url.port or 0), DEADLINE_S) as sock:
        sock.sendall(data)
        return sock.recv(4096)


def test_broker_away_is_503_in_time_and_204_when_it_is_back(tmp_path: Path) -> None:
    """The sender has to hear of it before its own timeout, and to come again."""
    with LocalKafka(tmp_path / "kafka", install_dir=DATA_DIR) as kafka:
        settings = corner(kafka.bootstrap_servers, "")
        create_topics(settings)
        environ = environ_of(settings) | {"ONEREPLY_PUBLISH_DEADLINE_MS": "1000"}
        with DoorProcess(tmp_path / "door", **environ) as door:
            first = _delivered_in_the_end(door, an_event(event_id="evt_before"))
            kafka.kill()
            asked_at_s = time.monotonic()
            away = door.deliver(an_event(event_id="evt_away"))
            took_s = time.monotonic() - asked_at_s
            ready = door.get("/readyz").status_code
            kafka.start_node()
            back = _delivered_in_the_end(door, an_event(event_id="evt_away"))
            keys = keys_in(settings)

    assert (first, away.status_code, ready, back) == (204, 503, 503, 204)
    assert (away.json()["reason"], away.headers["retry-after"]) == ("broker-away", "30")
    assert took_s < 3
    assert {b"agentmail/evt_before", b"agentmail/evt_away"} <= keys


def _delivered_in_the_end(door: DoorProcess, body: bytes) -> int:
    """What a sender that repeats an event gets once it stops hearing 503."""
    give_up_at_s = time.monotonic() + DEADLINE_S
    while time.monotonic() < give_up_at_s:
        status = door.deliver(body).status_code
        if status != 503:
            return status
    return 503
