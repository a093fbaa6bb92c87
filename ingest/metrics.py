"""What the door counts, for Prometheus.

Owns: the metrics' names and labels. A label holds a configured source or a reason of the status
table, never anything that a sender chose.
May not: keep a global registry; each door has its own.
"""

from collections.abc import Callable
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

CONTENT_TYPE: Final = CONTENT_TYPE_LATEST
UNKNOWN: Final = "unknown"

# From a local broker's 2 ms up to the deadline.
_ACK_BUCKETS_S: Final = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0)


class Metrics:
    """One door's metrics."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._deliveries = Counter(
            "onereply_door_deliveries",
            "Deliveries by outcome: accepted, or the reason why not.",
            ["source", "outcome"],
            registry=self._registry,
        )
        self._ack = Histogram(
            "onereply_door_broker_ack_seconds",
            "From handing a record over to the broker's word that it is durable.",
            buckets=_ACK_BUCKETS_S,
            registry=self._registry,
        )
        self._counters: dict[tuple[str, str], Counter] = {}

    def settled(self, source: str, outcome: str) -> None:
        """Count one delivery."""
        counter = self._counters.get((source, outcome))
        if counter is None:
            counter = self._counters[source, outcome] = self._deliveries.labels(source, outcome)
        counter.inc()

    def acked(self, seconds: float) -> None:
        """Note how long the broker took."""
        self._ack.observe(seconds)

    def watch(self, name: str, sentence: str, *, read: Callable[[], float]) -> None:
        """Show what `read` gives whenever somebody looks."""
        Gauge(f"onereply_door_{name}", sentence, registry=self._registry).set_function(read)

    def page(self) -> bytes:
        """Everything, in Prometheus's text format."""
        return generate_latest(self._registry)
