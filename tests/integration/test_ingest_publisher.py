"""The publisher alone, where no process is needed to see what it does."""

import asyncio
from datetime import timedelta

import pytest

from ingest.answers import Reason, TurnedAway
from ingest.publisher import Publisher
from ingest.records import Inbound
from schemas.cluster import producer_config
from schemas.settings import Settings
from schemas.topics import Topic
from tests.logs import corner

NOWHERE = corner("127.0.0.1:1", "")
RECORD = Inbound(key=b"agentmail/evt_1", value=b"{}", headers=())


def _refusal(settings: Settings, record: Inbound, **options: str | int) -> str:
    """Why a publisher with these options does not take the record, and how long it took."""

    async def publish() -> str:
        publisher = Publisher(
            producer_config(settings) | {"log_level": 0, **options},
            topic=settings.shape().name(Topic.INBOUND_EVENTS),
            deadline=timedelta(milliseconds=300),
        )
        try:
            await asyncio.gather(*[publisher.publish(record) for _ in range(2)])
        except TurnedAway as error:
            return str(error.reason)
        finally:
            await publisher.close(timedelta(seconds=1))
        return "published"

    return asyncio.run(publish())


def test_publisher_without_a_broker_gives_up_at_its_deadline() -> None:
    """No broker was ever there: the same answer as for one that went away."""
    assert _refusal(NOWHERE, RECORD) == Reason.BROKER_AWAY


def test_publisher_with_a_full_queue_says_so_at_once() -> None:
    """More memory would only put the same answer off."""
    refusal = _refusal(NOWHERE, RECORD, **{"queue.buffering.max.messages": 1})

    assert refusal == Reason.QUEUE_FULL


def test_publisher_says_that_a_record_is_too_large() -> None:
    """It would be too large the next time too: 503 would make the sender try for a day."""
    huge = Inbound(key=b"k", value=b"x" * 5_000_000, headers=())

    assert _refusal(NOWHERE, huge) == Reason.BODY_TOO_LARGE


def test_publisher_refuses_a_record_without_a_key() -> None:
    """It would be stored in some partition, and its state in another."""
    with pytest.raises(ValueError, match="without a key"):
        _refusal(NOWHERE, Inbound(key=b"", value=b"{}", headers=()))
