"""The broker of a run: the one that is named, one that runs in the data folder, or our own.

Owns: which of the three it is, and that only our own is watched and stopped.
May not: know a topic.
"""

from pathlib import Path
from typing import Final, Protocol

from ops.kafka.broker import LocalKafka
from ops.kafka.cluster import cluster_status, running
from ops.kafka.errors import AlreadyRunning
from ops.kafka.process import until
from ops.kafka.telling import Teller
from schemas.errors import Transient

# The broker of a run that was killed is ended by its watchdog, in good order: 5 s, then by force.
LEFT_OVER_DEADLINE_S: Final = 15.0


class Broker(Protocol):
    """What a run needs of its broker."""

    @property
    def is_ours(self) -> bool:
        """Whether this run has started it, and so stops it and starts it again."""

    def start(self) -> str:
        """Return its bootstrap servers once it answers. Raises OneReplyError."""

    def require_running(self) -> None:
        """Return while it runs, as far as that is ours to know. Raises BrokerAway."""

    def start_again(self) -> None:
        """Return once it answers again. Raises BrokerAway."""

    def stop(self) -> None:
        """End it, if it is ours to end."""


class GivenBroker:
    """A broker that somebody else runs."""

    is_ours: bool = False

    def __init__(self, bootstrap_servers: str) -> None:
        self._servers = bootstrap_servers

    def start(self) -> str:
        """Its bootstrap servers; whether they answer is seen when the topics are made."""
        return self._servers

    def require_running(self) -> None:
        """It is not ours to watch; the parts say when it is away."""

    def start_again(self) -> None:
        """It is not ours to start."""

    def stop(self) -> None:
        """It is not ours to stop."""


class OwnBroker:
    """Kafka in the data folder. One that runs there already is used, and left running."""

    def __init__(
        self, data_dir: Path, *, port: int | None, install_dir: Path, teller: Teller
    ) -> None:
        self._data_dir = data_dir
        self._kafka = LocalKafka(data_dir, port=port, install_dir=install_dir, teller=teller)
        self._teller = teller
        self.is_ours = False

    def start(self) -> str:
        """Start it, or find it running."""
        try:
            self._kafka.start()
        except AlreadyRunning as error:
            return self._found(error)
        self.is_ours = True
        return self._kafka.bootstrap_servers

    def require_running(self) -> None:
        """Return while its process is there."""
        if self.is_ours:
            self._kafka.require_running()

    def start_again(self) -> None:
        """Start it on its own port again; its data is where it was."""
        self._kafka.start_node()

    def stop(self) -> None:
        """End it, if this run has started it."""
        if self.is_ours:
            self._kafka.stop()

    def _found(self, error: AlreadyRunning) -> str:
        seen = cluster_status(self._data_dir)
        if not seen.is_up:
            raise Transient(
                f"The Kafka in {self._data_dir} does not answer. Stop it with: onereply kafka stop"
            ) from error
        self._teller.say(f"Kafka runs in {self._data_dir} already: that one is used, and left.")
        return seen.bootstrap_servers


def wait_for_left_over(data_dir: Path) -> None:
    """Return once the broker of a run that was killed has ended too, or the deadline has passed."""
    until(lambda: not running(data_dir), deadline_s=LEFT_OVER_DEADLINE_S)
