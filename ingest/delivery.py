"""One delivery in hand: whose it is, what came beside its body, and when.

Owns: what a record says of it.
May not: look into the body.
"""

import msgspec

from ingest.forms import Kind
from ingest.records import Circumstances
from ingest.signatures import Headers
from ingest.sources import OpenSource


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """A delivery whose body is whole. `steady_s` is the same instant on the steady clock."""

    source: OpenSource
    headers: Headers
    kind: Kind
    came_at_s: float
    steady_s: float

    def circumstances(self, delivery_id: str) -> Circumstances:
        """What its record says beside the event."""
        return Circumstances(
            source=self.source.name,
            provider=self.source.settings.provider,
            proves=self.source.scheme.proves,
            received_at_ms=int(self.came_at_s * 1000),
            delivery_id=delivery_id,
            content_type=self.kind.content_type,
            traceparent=self.headers.get(b"traceparent", b""),
        )
