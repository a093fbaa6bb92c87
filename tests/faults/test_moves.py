"""The whole path while partitions move in all of its stages, and with records of another client."""

import random
import time
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from confluent_kafka import Producer

from ops.standin.payloads import to_body
from schemas.cluster import producer_config
from schemas.events import ORDERED_EVENT
from schemas.headers import PROVIDER, RECEIVED_AT
from schemas.settings import Settings
from schemas.topics import Topic
from tests.logs import records_in
from tests.pipeline import Mail, conversation, pipeline
from tests.processes import DEADLINE_S
from tests.storms import visit
from tests.traffic import Traffic

INPUTS = {
    "dedupe": Topic.INBOUND_EVENTS,
    "reorder": Topic.THREAD_EVENTS,
    "decide": Topic.ORDERED_EVENTS,
    "send": Topic.REPLY_COMMANDS,
}


def is_in_order(settings: Settings, mails: Sequence[Mail]) -> bool:
    """Whether each thread's mails stand on the public topic by the time of their writing."""
    ours = {mail.identity[1]: str(mail.message["thread_id"]) for mail in mails}
    threads: dict[str, list[int]] = defaultdict(list)
    for record in records_in(settings, Topic.ORDERED_EVENTS):
        event = ORDERED_EVENT.decode(record.value).event
        if (thread := ours.get(f"<{event.message_id}>")) is not None:
            threads[thread].append(event.occurred_at_ns or 0)
    return all(before <= after for times in threads.values() for before, after in pairwise(times))


def test_half_of_each_thread_by_another_partitioner_is_told_in_order_and_answered_once(
    broker: str, prefix: str, tmp_path: Path
) -> None:
    """Where an event stands at the door does not matter: its thread has its own key after it."""
    # An odd number: each thread's mails are written by both in turn.
    mails = conversation("halves", threads=11, length=4)
    with pipeline(broker, prefix, tmp_path) as whole:
        whole.know(mails)
        ours = producer_config(whole.settings)
        producers = [Producer(ours), Producer(ours | {"partitioner": "consistent_random"})]
        for number, mail in enumerate(mails):
            producers[number % 2].produce(
                whole.settings.shape().name(Topic.INBOUND_EVENTS),
                to_body(mail.payload),
                key=f"agentmail/{mail.event_id}",
                headers=[
                    (RECEIVED_AT, b"%d" % (time.time_ns() // 1_000_000)),
                    (PROVIDER, b"agentmail"),
                ],
            )
        assert [producer.flush(DEADLINE_S) for producer in producers] == [0, 0]
        whole.await_mails(len(mails))
        told, replies = whole.told(mails), whole.replies()
        in_order = is_in_order(whole.settings, mails)

    owed = {mail.identity: 1 for mail in mails}
    assert (told, replies) == (owed, owed)
    assert in_order


@pytest.mark.chaos
def test_whole_path_keeps_its_promise_while_partitions_move_in_every_stage(
    broker: str, prefix: str, tmp_path: Path
) -> None:
    """Each stage in turn gives partitions to a guest and has them back at once, for a minute."""
    mails = conversation("moves", threads=20, length=25)
    caps = {"cap_thread_hour": 1_000, "cap_correspondent_day": 1_000, "cap_domain_day": 1_000}
    with pipeline(broker, prefix, tmp_path, partitions=6, **caps) as whole:
        whole.know(mails)
        traffic = Traffic(whole, mails, per_second=15, rnd=random.Random(1))
        visits = [
            visit(whole.settings, stage, topic) for _ in range(5) for stage, topic in INPUTS.items()
        ]
        traffic.ended()
        whole.await_mails(len(mails), deadline_s=3 * DEADLINE_S)
        told, replies = whole.told(mails), whole.replies()
        in_order = is_in_order(whole.settings, mails)

    owed = {mail.identity: 1 for mail in mails}
    assert min(visits) > 0
    assert (told, replies) == (owed, owed)
    assert in_order
