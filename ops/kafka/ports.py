"""Ports on the loopback.

Owns: which ports are free to choose, and whether one is in use.
May not: hold a port; between the choice and the broker's bind another may take it.
"""

import errno
import random
import socket
from typing import Final

from ops.kafka.errors import BrokerAway
from ops.kafka.properties import HOST

# Below the range from which Linux (32768) and macOS (49152) give outgoing connections their ports:
# a node that is killed and started again finds its port free.
FIRST, LAST = 20_000, 32_000
TRIES: Final = 200


def free_ports(count: int) -> list[int]:
    """Ports, all different, on which nothing listens now. Raises BrokerAway."""
    found: list[int] = []
    for port in random.SystemRandom().sample(range(FIRST, LAST), TRIES):
        if len(found) == count:
            break
        if not is_in_use(port):
            found.append(port)
    if len(found) < count:
        raise BrokerAway(f"No {count} free ports between {FIRST} and {LAST} on {HOST}.")
    return found


def is_in_use(port: int) -> bool:
    """Whether something listens on the port. Raises BrokerAway when the port is not ours to use."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As the broker binds: a connection that just ended does not hold the port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return True
            raise BrokerAway(f"Port {port} on {HOST}: {error.strerror}.") from error
    return False


def require_free(port: int) -> None:
    """Return when the port is free. Raises BrokerAway."""
    if is_in_use(port):
        raise BrokerAway(
            f"Port {port} on {HOST} is in use: another Kafka? Name another one with --port."
        )
