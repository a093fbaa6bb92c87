import json

from tests.doors import LocalDoor
from tests.payloads import an_event


def test_alive_as_long_as_it_answers() -> None:
    """A supervisor restarts what does not."""
    assert LocalDoor().ask(b"", method="GET", path="/healthz").status == 200


def test_ready_follows_the_broker_and_asks_it_once_a_second() -> None:
    """A balancer should send deliveries elsewhere, and its probes must not become load."""
    door = LocalDoor()

    def ready() -> int:
        return door.ask(b"", method="GET", path="/readyz").status

    first = ready()
    door.is_reachable = False
    remembered = ready()
    door.clock.at_s += 1

    assert (first, remembered, ready()) == (200, 200, 503)


def test_ready_says_so_in_its_body() -> None:
    """For a person with curl."""
    reply = LocalDoor().ask(b"", method="GET", path="/readyz")

    assert json.loads(reply.body) == {"ready": True}


def test_each_delivery_is_counted_once_by_source_and_outcome() -> None:
    """Signature failures by reason tell a wrong secret from a slow clock."""
    door = LocalDoor()
    door.deliver(an_event())
    door.deliver(an_event(), at_s=1)
    door.ask(b"{}", path="/webhooks/whatever-a-stranger-chose")

    page = door.ask(b"", method="GET", path="/metrics").body.decode()

    counted = [line for line in page.splitlines() if line.startswith("onereply_door_deliveries_t")]
    assert sorted(counted) == [
        'onereply_door_deliveries_total{outcome="accepted",source="agentmail"} 1.0',
        'onereply_door_deliveries_total{outcome="signature-too-old",source="agentmail"} 1.0',
        'onereply_door_deliveries_total{outcome="unknown-source",source="unknown"} 1.0',
    ]
