"""What an error of Kafka's means: read again, end and be started again, or end for a person.

Owns: which errors no repeat can mend.
May not: talk to Kafka.
"""

from typing import Final

from confluent_kafka import KafkaError

from schemas.errors import ClusterMismatch, OneReplyError, Transient

# ruff: noqa: SLF001  # the library's public constants have these names

# Somebody must give this user a right first.
FORBIDDEN: Final = frozenset(
    {
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    }
)
# The same records will be refused again, until a topic is mended.
REFUSED: Final = frozenset(
    {
        KafkaError.MSG_SIZE_TOO_LARGE,
        KafkaError.RECORD_LIST_TOO_LARGE,
        KafkaError.INVALID_RECORD,
        KafkaError.POLICY_VIOLATION,
        KafkaError.TOPIC_EXCEPTION,
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError._UNKNOWN_TOPIC,
        KafkaError._UNKNOWN_PARTITION,
    }
)
# Another process took the name, or the coordinator ended a transaction that took too long.
FENCED: Final = frozenset(
    {
        KafkaError._FENCED,
        KafkaError.PRODUCER_FENCED,
        KafkaError.INVALID_PRODUCER_EPOCH,
        KafkaError.FENCED_INSTANCE_ID,
    }
)


class Aborted(OneReplyError):
    """The transaction was rolled back; the batch is to be read again from what was committed."""

    def __init__(self, error: KafkaError) -> None:
        self.error = error
        super().__init__(str(error))


class Fenced(OneReplyError):
    """Another process took this worker's name, or the broker does not let it write. Stop."""


def hopeless(error: KafkaError) -> OneReplyError | None:
    """Why reading again cannot help after this error, or None where it can."""
    if error.code() in FORBIDDEN:
        return Fenced(f"the broker does not allow it: {error.str()}")
    if error.code() in REFUSED:
        return ClusterMismatch(
            [f"records cannot be written: {error.str()}; mend the topic, then start the stage"]
        )
    return None


def end_after(error: KafkaError, what: str, *, is_overdue: bool = False) -> OneReplyError:
    """With what this process ends after an error that it cannot go on from; `what` failed.

    A transaction that is overdue was ended by its coordinator, which looks the same as a newer
    process of this name; so that is Transient, and only what came in time is Fenced.
    """
    if error.code() in FENCED and is_overdue:
        return Transient(f"{what}, and it took longer than it may: {error.str()}")
    if error.code() in FORBIDDEN | FENCED or error.fatal():
        return Fenced(f"{what}: {error.str()}")
    return Transient(f"{what}: {error.str()}")
