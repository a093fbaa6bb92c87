"""What an error of Kafka's means, and how often a batch is tried again."""

import pytest
from confluent_kafka import KafkaError

from processors.runtime.failures import Aborted, Fenced, end_after
from processors.runtime.setbacks import MOST, Setbacks
from schemas.errors import ClusterMismatch, OneReplyError, Transient

# ruff: noqa: SLF001  # the library's public constants have these names


class Clock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now_s = 1_000.0

    def __call__(self) -> float:
        """Seconds."""
        return self.now_s


def aborted(code: int) -> Aborted:
    """A batch rolled back because of this error."""
    return Aborted(KafkaError(code, "said the broker"))


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        pytest.param(KafkaError.MSG_SIZE_TOO_LARGE, ClusterMismatch, id="too-large"),
        pytest.param(KafkaError.POLICY_VIOLATION, ClusterMismatch, id="policy"),
        pytest.param(KafkaError._UNKNOWN_TOPIC, ClusterMismatch, id="no-such-topic"),
        pytest.param(KafkaError._UNKNOWN_PARTITION, ClusterMismatch, id="no-such-partition"),
        pytest.param(KafkaError.TOPIC_AUTHORIZATION_FAILED, Fenced, id="forbidden"),
    ],
)
def test_batch_that_will_be_refused_again_is_not_tried_again(
    code: int, expected: type[OneReplyError]
) -> None:
    """The same batch at full speed, for ever, is a stage that hangs and a broker that suffers."""
    with pytest.raises(expected, match="said the broker"):
        Setbacks().rolled_back(aborted(code))


def test_pause_doubles_with_each_setback() -> None:
    """A broker that is in trouble is left alone for longer each time."""
    clock = Clock()
    setbacks = Setbacks(clock)

    pauses = []
    for _ in range(MOST - 1):
        setbacks.rolled_back(aborted(KafkaError._MSG_TIMED_OUT))
        pauses.append(setbacks.left_s())
        clock.now_s += setbacks.left_s()

    assert pauses == pytest.approx([0.1, 0.2, 0.4, 0.8])
    assert setbacks.left_s() == 0


def test_process_ends_after_so_many_setbacks_in_a_row() -> None:
    """A new process has new clients, and whoever supervises it sees that something is wrong."""
    setbacks = Setbacks()
    for _ in range(MOST - 1):
        setbacks.rolled_back(aborted(KafkaError._MSG_TIMED_OUT))

    with pytest.raises(Transient, match="5 batches rolled back in a row"):
        setbacks.rolled_back(aborted(KafkaError._MSG_TIMED_OUT))


def test_commit_ends_a_row_of_setbacks() -> None:
    """Five rebalances in a year are no reason to stop."""
    clock = Clock()
    setbacks = Setbacks(clock)
    for _ in range(MOST - 1):
        setbacks.rolled_back(aborted(KafkaError.ILLEGAL_GENERATION))
    setbacks.committed()

    setbacks.rolled_back(aborted(KafkaError.ILLEGAL_GENERATION))

    assert setbacks.left_s() == pytest.approx(0.1)


FENCED_NAME = KafkaError(KafkaError._FENCED, "by a newer instance", fatal=True)


@pytest.mark.parametrize(
    ("error", "is_overdue", "expected"),
    [
        pytest.param(FENCED_NAME, False, Fenced, id="newer-process"),
        pytest.param(FENCED_NAME, True, Transient, id="ended-by-its-coordinator"),
        pytest.param(KafkaError(KafkaError._FATAL, fatal=True), False, Fenced, id="fatal"),
        pytest.param(
            KafkaError(KafkaError._TIMED_OUT, retriable=True), False, Transient, id="no-answer"
        ),
        pytest.param(KafkaError(KafkaError._STATE), False, Transient, id="out-of-step"),
        pytest.param(
            KafkaError(KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
            False,
            Fenced,
            id="forbidden",
        ),
    ],
)
def test_process_that_cannot_go_on_says_whether_a_new_one_can(
    error: KafkaError, *, is_overdue: bool, expected: type[OneReplyError]
) -> None:
    """A broker that was away must not look like another process of this name."""
    assert type(end_after(error, "it failed", is_overdue=is_overdue)) is expected
