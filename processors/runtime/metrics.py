"""What a stage counts, for Prometheus, on a port of its own.

Owns: the metrics' names, and the server that shows them. Counted once a batch, never a record.
May not: have labels with values from outside.
"""

import logging
from collections.abc import Callable
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, start_http_server

from processors.runtime.batch import Decided
from schemas.errors import SettingsError
from schemas.settings import Settings

LOG = logging.getLogger("processors.metrics")

# From a local broker's 3 ms up to the transaction's own time.
_TRANSACTION_BUCKETS_S: Final = (0.003, 0.006, 0.012, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class Metrics:
    """One worker's metrics."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._records = self._counter("records", "Records decided, in committed transactions.")
        self._outputs = self._counter("outputs", "Records written, in committed transactions.")
        self._dead = self._counter("dead_letters", "Records, timers and results set aside.")
        self._aborts = self._counter("aborts", "Transactions rolled back and made again.")
        self._transaction = Histogram(
            "onereply_stage_transaction_seconds",
            "From a transaction's begin to the broker's word that it is committed.",
            buckets=_TRANSACTION_BUCKETS_S,
            registry=self._registry,
        )

    def _counter(self, name: str, sentence: str) -> Counter:
        return Counter(f"onereply_stage_{name}", sentence, registry=self._registry)

    def watch(self, name: str, sentence: str, *, read: Callable[[], float]) -> None:
        """Show what `read` gives whenever somebody looks, from a thread of the server's."""
        Gauge(f"onereply_stage_{name}", sentence, registry=self._registry).set_function(read)

    def committed(self, decided: Decided, *, seconds: float) -> None:
        """A batch is committed."""
        self._records.inc(decided.records)
        self._outputs.inc(len(decided.outputs))
        self._dead.inc(decided.dead)
        self._transaction.observe(seconds)

    def aborted(self) -> None:
        """A batch was rolled back."""
        self._aborts.inc()

    def serve(self, settings: Settings) -> None:
        """Answer `/metrics` where the settings say so. Raises SettingsError when it cannot."""
        host, port = settings.metrics_host, settings.metrics_port
        if not port:
            return
        try:
            start_http_server(port, host, self._registry)
        except OSError as error:
            raise SettingsError([f"ONEREPLY_METRICS_PORT: {host}:{port}: {error}"]) from error
        LOG.info("metrics shown", extra={"url": f"http://{host}:{port}/metrics"})
