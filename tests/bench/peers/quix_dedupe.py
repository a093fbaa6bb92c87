"""Dedupe with Quix Streams: a stateful filter, with its store and changelog."""

import sys
from typing import Any

from quixstreams import Application
from quixstreams.models import TopicConfig

from tests.bench.peers.options import finish, told

PATIENCE_S = 60.0


def main() -> int:
    """Read all events; pass the first of each key on."""
    options = told()
    app = Application(
        broker_address=options.servers,
        consumer_group=options.output,
        auto_offset_reset="earliest",
        processing_guarantee=options.guarantee,
        state_dir=options.state,
        loglevel="WARNING",
    )
    counts = {"events": 0, "passed": 0}

    def is_new(_value: Any, state: Any) -> bool:
        counts["events"] += 1
        if state.get("seen") is not None:
            return False
        state.set("seen", 1)
        counts["passed"] += 1
        return True

    layout = TopicConfig(num_partitions=4, replication_factor=1)
    source = app.topic(
        options.input, key_deserializer="bytes", value_deserializer="bytes", config=layout
    )
    target = app.topic(
        options.output, key_serializer="bytes", value_serializer="bytes", config=layout
    )
    app.dataframe(source).filter(is_new, stateful=True).to_topic(target)
    app.run(count=options.events, timeout=PATIENCE_S)
    return finish(options, **counts)


if __name__ == "__main__":
    sys.exit(main())
