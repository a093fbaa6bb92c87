"""A live partition of the runtime over a real store, for tests without a broker."""

from processors.runtime.partition import Partition
from processors.runtime.rows import FORMAT, PositionRow, StoreMeta
from processors.runtime.store import Store

META = StoreMeta(format=FORMAT, cluster_id="c", changelog_id="l", next_changelog=0, live_at_ms=1)


def a_partition(store: Store, *, number: int = 0) -> Partition:
    """Live under epoch 1, with nothing processed yet."""
    return Partition(
        number=number,
        epoch=1,
        store=store,
        position=PositionRow(topic_id="t"),
        next_offset=0,
        replay=None,
        next_changelog=0,
    )
