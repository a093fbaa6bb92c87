"""Whether brokers answer: confluent_kafka's admin client, and nothing else of it.

Owns: the wait until a cluster answers a metadata request.
May not: change anything on the cluster.
"""

import time
from collections.abc import Callable
from typing import Final

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

ASK_S: Final = 1.0
PAUSE_S: Final = 0.03


def brokers_seen(bootstrap_servers: str, *, deadline_s: float) -> frozenset[int]:
    """The ids of the brokers that the cluster says it has; none when nobody answers in time."""
    return _asked(_client(bootstrap_servers), deadline_s)


def wait_until_answered(
    bootstrap_servers: str,
    *,
    by: frozenset[int],
    deadline_s: float,
    check: Callable[[], None],
) -> bool:
    """Return whether all these brokers are in the cluster by the deadline.

    `check` is called between two tries and raises when waiting is in vain.
    """
    client, end = _client(bootstrap_servers), time.monotonic() + deadline_s
    while time.monotonic() < end:
        check()
        if by <= _asked(client, ASK_S):
            return True
        time.sleep(PAUSE_S)
    return False


def _asked(client: AdminClient, deadline_s: float) -> frozenset[int]:
    try:
        return frozenset(client.list_topics(timeout=deadline_s).brokers)
    except KafkaException:
        return frozenset()


def _client(bootstrap_servers: str) -> AdminClient:
    options: dict[str, str | int | float | bool] = {
        "bootstrap.servers": bootstrap_servers,
        "reconnect.backoff.ms": 20,
        "reconnect.backoff.max.ms": 100,
        # Refused connections are what a start looks like from outside.
        "log_level": 0,
    }
    return AdminClient(options)
