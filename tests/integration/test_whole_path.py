"""The whole path on real Kafka: repeats, order, and offsets set back by Kafka's own means."""

import time
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, TopicPartition

from ops.standin.payloads import to_body
from schemas.cluster import admin
from schemas.keys import MAX_EVENT_ID_BYTES
from schemas.topics import INLINE_LIMIT_BYTES, Topic
from tests.pipeline import Mail, Pipeline, conversation, pipeline
from tests.processes import DEADLINE_S

INPUTS = {
    "dedupe": Topic.INBOUND_EVENTS,
    "reorder": Topic.THREAD_EVENTS,
    "decide": Topic.ORDERED_EVENTS,
    "send": Topic.REPLY_COMMANDS,
}


@pytest.fixture(scope="module")
def whole(broker: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipeline]:
    """One running set: each test brings events of its own."""
    folder: Path = tmp_path_factory.mktemp("whole")
    with pipeline(broker, f"whole-{uuid.uuid4().hex[:8]}-", folder) as running:
        yield running


def answer(whole: Pipeline, mails: Sequence[Mail]) -> None:
    """Deliver mails and return once each has a reply."""
    before = whole.replies().total()
    whole.know(mails)
    for mail in mails:
        assert whole.deliver(mail) == 204
    whole.await_mails(before + len(mails))


def set_back(whole: Pipeline, name: str) -> None:
    """Set a stopped stage's offsets to zero, as Kafka's own tool does, once its session is over."""
    settings = whole.settings
    topic = settings.shape().name(INPUTS[name])
    places = [TopicPartition(topic, number, 0) for number in range(settings.partitions)]
    wanted = ConsumerGroupTopicPartitions(f"{settings.topic_prefix}{name}", places)
    client = admin(settings)
    give_up_at_s = time.monotonic() + DEADLINE_S
    while True:
        (future,) = client.alter_consumer_group_offsets([wanted]).values()
        try:
            done = future.result(DEADLINE_S)
        except KafkaException:
            is_done = False
        else:
            is_done = all(place.error is None for place in done.topic_partitions)
        if is_done:
            return
        assert time.monotonic() < give_up_at_s, f"{name}'s group stays active"


def test_mails_of_a_thread_leave_in_order_whatever_order_they_came_in(whole: Pipeline) -> None:
    """A customer reads our answers from the top."""
    mails = conversation("order", threads=4, length=4)
    before = whole.replies()
    whole.know(mails)

    for mail in [*reversed(mails), *mails]:
        assert whole.deliver(mail) == 204
    whole.await_mails(before.total() + len(mails))

    assert whole.replies() - before == Counter({mail.identity: 1 for mail in mails})
    answered = [mail["in_reply_to"] for mail in whole.mailbox()]
    for thread in range(4):
        ours = [f"<order-{thread}-{step}@customer.example>" for step in range(4)]
        assert [each for each in answered if each in ours] == ours


def test_bodies_around_the_inline_limit_are_answered_like_any(whole: Pipeline) -> None:
    """With the longest key and headers, a record must fit every topic on the way."""
    mails = [
        of_size(mail, INLINE_LIMIT_BYTES + more)
        for mail, more in zip(
            conversation("limit", threads=4, length=1), (-1, 0, 1, 900_000), strict=True
        )
    ]
    before = whole.replies()
    whole.know(mails)

    answers = [whole.deliver(mail, delivery_id="d" * 256) for mail in mails]
    whole.await_mails(before.total() + len(mails))

    assert answers == [204] * len(mails)
    assert whole.replies() - before == Counter({mail.identity: 1 for mail in mails})


def of_size(mail: Mail, size_bytes: int) -> Mail:
    """The mail with the longest event id, and a text that makes its body as long as this."""
    event_id = mail.event_id.ljust(MAX_EVENT_ID_BYTES, "x")
    message = mail.message | {"text": ""}
    bare = len(to_body(mail.whole | {"event_id": event_id, "message": message}))
    message["text"] = "x" * (size_bytes - bare)
    whole = mail.whole | {"event_id": event_id, "message": message}
    assert len(to_body(whole)) == size_bytes
    return Mail(event_id=event_id, whole=whole)


@pytest.mark.parametrize("name", list(INPUTS))
def test_stage_that_reads_everything_again_sends_nothing(whole: Pipeline, name: str) -> None:
    """An operator may set offsets back with any tool, and no customer hears twice."""
    answer(whole, conversation(f"before-{name}", threads=10, length=2))
    before = whole.replies()

    assert whole.processes[name].terminate() == 0
    set_back(whole, name)
    whole.restart(name)
    # New mail of every inbox is behind all that is read again: its replies say that that is over.
    after = conversation(f"after-{name}", threads=10, length=1)
    answer(whole, after)

    assert whole.replies() - before == Counter({mail.identity: 1 for mail in after})
