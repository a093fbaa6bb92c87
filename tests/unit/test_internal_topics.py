import pytest

from schemas.internal_topics import Copies, InternalSeen, internal_differences
from schemas.topics import Shape

REPLICATED = Shape(prefix="", partitions=4, replication=3, min_insync=2)
SINGLE_NODE = Shape(prefix="", partitions=4, replication=1, min_insync=1)
OFFSETS, TRANSACTIONS = "__consumer_offsets", "__transaction_state"
OR_LESS = "or set ONEREPLY_DURABILITY=single-node if losing data is fine"


def copies(replication: int | None, min_insync: int | None) -> Copies:
    """So many copies, of which so many must hold a record."""
    return Copies(replication=replication, min_insync=min_insync)


def existing(transactions: Copies, *, offsets: Copies | None = None) -> InternalSeen:
    """A cluster that was used before."""
    both = {TRANSACTIONS: transactions, OFFSETS: offsets or copies(3, 2)}
    return InternalSeen(existing=both, planned={}, brokers=3)


def planned(*transactions: Copies, brokers: int = 3) -> InternalSeen:
    """A cluster whose brokers have not made the topic of transactions yet."""
    return InternalSeen(
        existing={OFFSETS: copies(3, 2)}, planned={TRANSACTIONS: transactions}, brokers=brokers
    )


@pytest.mark.parametrize(
    "seen",
    [
        existing(copies(3, 2)),
        existing(copies(5, 3)),
        planned(copies(3, 2), copies(3, 2), copies(3, 2)),
        planned(copies(None, None)),
        planned(),
        existing(copies(3, None)),
    ],
    ids=["there", "more", "planned", "unseen", "nobody asked", "options unseen"],
)
def test_as_many_copies_as_promised_differ_in_nothing(seen: InternalSeen) -> None:
    """What is more, or could not be seen, is no reason to stop."""
    assert internal_differences(REPLICATED, seen) == []


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (
            existing(copies(1, 1)),
            [
                f"{TRANSACTIONS}: 1 replicas, 3 are needed; reassign its replicas, {OR_LESS}",
                (
                    f"{TRANSACTIONS}: min.insync.replicas is 1, 2 is needed; set "
                    f"min.insync.replicas=2 on it with kafka-configs.sh, {OR_LESS}"
                ),
            ],
        ),
        (
            existing(copies(3, 2), offsets=copies(3, 1)),
            [
                (
                    f"{OFFSETS}: min.insync.replicas is 1, 2 is needed; set "
                    f"min.insync.replicas=2 on it with kafka-configs.sh, {OR_LESS}"
                )
            ],
        ),
        (
            planned(copies(3, 2), copies(1, 1)),
            [
                (
                    f"{TRANSACTIONS}: would be made with 1 replicas, 3 are needed; set "
                    f"transaction.state.log.replication.factor=3 on every broker, {OR_LESS}"
                ),
                (
                    f"{TRANSACTIONS}: would be made with min.insync.replicas 1, 2 is needed; set "
                    f"transaction.state.log.min.isr=2 on every broker, {OR_LESS}"
                ),
            ],
        ),
    ],
    ids=["one copy", "offsets on one copy", "one broker would make fewer"],
)
def test_fewer_copies_than_promised_are_named_with_what_to_set(
    seen: InternalSeen, expected: list[str]
) -> None:
    """A lost disk would take the commits of every stage with it."""
    assert internal_differences(REPLICATED, seen) == expected


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (
            existing(copies(1, 2), offsets=copies(1, 1)),
            (
                f"{TRANSACTIONS}: min.insync.replicas is 2 of 1 replicas, so nothing can be "
                "written; set min.insync.replicas on it with kafka-configs.sh to no more"
            ),
        ),
        (
            planned(copies(3, 2), brokers=1),
            (
                f"{TRANSACTIONS}: cannot be made with 3 replicas on 1 brokers; start more, or set "
                "transaction.state.log.replication.factor to no more on every broker"
            ),
        ),
        (
            planned(copies(1, 2), brokers=1),
            (
                f"{TRANSACTIONS}: would be made so that nothing can be written; set "
                "transaction.state.log.min.isr to no more than "
                "transaction.state.log.replication.factor on every broker"
            ),
        ),
    ],
    ids=["written by nobody", "made by nobody", "made and written by nobody"],
)
def test_topic_that_would_stop_every_stage_is_named(seen: InternalSeen, expected: str) -> None:
    """Kafka's defaults are for three brokers; on one, a stage would wait without a word."""
    assert internal_differences(SINGLE_NODE, seen) == [expected]


def test_new_cluster_is_judged_by_the_options_of_each_topic() -> None:
    """Committed offsets have no option of their own for how many copies must agree."""
    seen = InternalSeen(
        existing={},
        planned={TRANSACTIONS: (copies(3, 2),), OFFSETS: (copies(1, 1),)},
        brokers=3,
    )

    assert internal_differences(REPLICATED, seen) == [
        (
            f"{OFFSETS}: would be made with 1 replicas, 3 are needed; set "
            f"offsets.topic.replication.factor=3 on every broker, {OR_LESS}"
        ),
        (
            f"{OFFSETS}: would be made with min.insync.replicas 1, 2 is needed; set "
            f"min.insync.replicas=2 on every broker, {OR_LESS}"
        ),
    ]
