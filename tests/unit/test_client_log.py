import logging
from collections.abc import Iterator
from typing import Final

import pytest

from schemas.client_log import FORGOTTEN_S, MOST_SENTENCES, TOLD_AGAIN_S, ClientLog

LINE: Final = "%s [%s] %s"
BROKER: Final = "127.0.0.1:9092"
REFUSED: Final = "Connect to ipv4#127.0.0.1:9092 failed: Connection refused"


class Kept(logging.Handler):
    """Remembers each line with one of its fields."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[tuple[str, str]] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Remember the line."""
        fields = vars(record)
        self.lines.append((record.getMessage(), str(fields.get("reason", fields.get("said")))))


class Clients:
    """Clients that complain to one log, and a clock that is set by hand."""

    def __init__(self, log: logging.Logger) -> None:
        self.now_s = 0.0
        self._log = ClientLog(log, clock=lambda: self.now_s)

    def fail(self, client: str, broker: str = BROKER, *, said: str = REFUSED) -> None:
        """The broker is away for this client."""
        line = f"[thrd:{broker}/1]: {broker}/1: {said} (after 0ms in state CONNECT)"
        self._log.log(logging.ERROR, LINE, "FAIL", client, line)

    def connect(self, client: str, broker: str = BROKER) -> None:
        """The broker is there for this client."""
        line = f"[thrd:{broker}/bootstrap]: {broker}/bootstrap: Broker changed state AUTH -> UP"
        self._log.log(logging.DEBUG, LINE, "STATE", client, line)

    def say(self, level: int, said: str) -> None:
        """Something else."""
        self._log.log(level, LINE, "OTHER", "c", f"[thrd:main]: {said}")


@pytest.fixture
def kept() -> Kept:
    """What was passed on."""
    return Kept()


@pytest.fixture
def clients(kept: Kept) -> Iterator[Clients]:
    """Clients of one process."""
    log = logging.getLogger("schemas.client_log.tests")
    log.addHandler(kept)
    log.propagate = False
    yield Clients(log)
    log.removeHandler(kept)


def test_broker_that_is_away_is_told_once_and_then_twice_a_minute(
    clients: Clients, kept: Kept
) -> None:
    """A log of a night without a broker must still be read in the morning."""
    for _ in range(20 * 60):
        clients.fail("producer")
        clients.fail("consumer")
        clients.now_s += 0.05

    assert kept.lines == [("broker away", REFUSED)] * int(60 / TOLD_AGAIN_S)


def test_each_new_reason_is_told(clients: Clients, kept: Kept) -> None:
    """A broker that is up again and refuses the password is another matter."""
    for said in (REFUSED, "SASL authentication error", REFUSED, "SASL authentication error"):
        clients.fail("consumer", said=said)

    assert [reason for _, reason in kept.lines] == [REFUSED, "SASL authentication error"]


def test_broker_is_back_once_every_client_has_it(clients: Clients, kept: Kept) -> None:
    """Clients notice one after the other; a person is told when it is over."""
    clients.fail("consumer")
    clients.fail("producer")
    clients.connect("consumer")
    clients.connect("consumer")
    assert [event for event, _ in kept.lines] == ["broker away"]

    clients.connect("producer")

    assert [event for event, _ in kept.lines] == ["broker away", "broker back"]


def test_one_broker_of_three_is_not_back_because_another_answers(
    clients: Clients, kept: Kept
) -> None:
    """A cluster goes on without one, and one must be told that it does."""
    clients.fail("consumer")

    clients.connect("consumer", "127.0.0.1:9093")

    assert [event for event, _ in kept.lines] == ["broker away"]


def test_client_that_was_closed_meanwhile_is_not_waited_for(clients: Clients, kept: Kept) -> None:
    """A restore's consumer lives shorter than an outage."""
    clients.fail("restore")
    clients.now_s = FORGOTTEN_S
    clients.fail("consumer")
    clients.now_s += 1

    clients.connect("consumer")

    assert [event for event, _ in kept.lines][-1] == "broker back"


def test_other_warnings_are_told_and_not_repeated_at_once(clients: Clients, kept: Kept) -> None:
    """What is wrong is said; what the client does all day is not."""
    clients.say(logging.DEBUG, "Broker changed state")
    clients.say(logging.INFO, "Disconnected")
    clients.say(logging.ERROR, "1/1 brokers are down")
    for _ in range(3):
        clients.say(logging.WARNING, "no disk")
    clients.now_s = TOLD_AGAIN_S
    clients.say(logging.WARNING, "no disk")

    assert kept.lines == [("kafka client", "no disk")] * 2


def test_what_is_remembered_of_other_sentences_is_bounded(clients: Clients, kept: Kept) -> None:
    """A client that numbers its complaints must not fill the memory, or be silenced."""
    for number in range(MOST_SENTENCES + 1):
        clients.say(logging.WARNING, f"no {number}")

    assert len(kept.lines) == MOST_SENTENCES + 1
