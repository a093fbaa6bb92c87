"""Offsets set back as Kafka's own tools do, on real stages: told once more and marked."""

import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from schemas.cluster import create_topics
from schemas.events import ORDERED_EVENT
from schemas.headers import REPLAY
from schemas.settings import Settings
from schemas.topics import Topic
from tests.compaction import await_cleaned, clean_soon
from tests.deduping import bring, corner_of_dedupe, dedupe
from tests.logs import await_records, records_in
from tests.pipeline import Mail, Pipeline, conversation, pipeline
from tests.processes import DEADLINE_S
from tests.rewinding import set_offset

ACCEPTED = 204


def rewind(whole: Pipeline) -> None:
    """Stop DEDUPE, set it back to the beginning, and start it as one that forgets each event."""
    process = whole.processes["dedupe"]
    assert process.terminate() == 0
    for number in range(whole.settings.partitions):
        set_offset(whole.settings, "dedupe", Topic.INBOUND_EVENTS, offset=0, number=number)
    process.arguments = ("-m", "tests.broken", "dedupe", "dedupe")
    process.start()


def deliver(whole: Pipeline, mails: Sequence[Mail]) -> None:
    """Each of them once."""
    assert {whole.deliver(mail) for mail in mails} == {ACCEPTED}


def marks_of(whole: Pipeline, mails: Sequence[Mail]) -> dict[str, list[bool]]:
    """Whether each telling of these on the public topic was marked, by message, in order."""
    ours = {mail.identity[1] for mail in mails}
    found: dict[str, list[bool]] = defaultdict(list)
    for record in records_in(whole.settings, Topic.ORDERED_EVENTS):
        message = ORDERED_EVENT.decode(record.value).event.message_id
        if f"<{message}>" in ours:
            found[f"<{message}>"].append(REPLAY in record.headers)
    return dict(found)


def await_marked(whole: Pipeline, mails: Sequence[Mail], count: int) -> None:
    """Return once so many tellings of these on the public topic are marked."""
    give_up_at_s = time.monotonic() + DEADLINE_S
    while (found := sum(map(sum, marks_of(whole, mails).values()))) < count:
        assert time.monotonic() < give_up_at_s, f"{found} of {count} were told again"


def asks_of(whole: Pipeline) -> list[bool]:
    """Whether each order to answer was marked."""
    return [
        REPLAY in record.headers
        for record in records_in(whole.settings, Topic.REPLY_COMMANDS)
        if msgspec.json.decode(record.value or b"{}").get("command") == "AskReply"
    ]


def test_replays_reach_the_last_stage_marked_and_send_nothing(
    broker: str, prefix: str, tmp_path: Path
) -> None:
    """Also of events that nobody remembers, and of one that still waits for its parent."""
    with pipeline(broker, prefix, tmp_path, predecessor_wait_ms=300_000) as whole:
        told = conversation("told", threads=6, length=2)
        parent, waits = conversation("waits", threads=1, length=2)
        whole.know([*told, parent, waits])
        deliver(whole, [*told, waits])
        whole.await_mails(len(told))

        for count in (1, 2):
            # The second replay finds no row of what it tells.
            rewind(whole)
            await_marked(whole, told, count * len(told))
        deliver(whole, [parent])
        whole.await_mails(len(told) + 2)

        marks = marks_of(whole, [*told, parent, waits])
        asks, replies = asks_of(whole), whole.replies()

    once = {mail.identity[1]: [False] for mail in (parent, waits)}
    assert marks == once | {mail.identity[1]: [False, True, True] for mail in told}
    assert sorted(asks) == [False] * (len(told) + 2) + [True] * 2 * len(told)
    assert replies == {mail.identity: 1 for mail in (*told, parent, waits)}


@pytest.fixture
def settings(broker: str, prefix: str, tmp_path: Path) -> Settings:
    """A corner for DEDUPE alone."""
    return corner_of_dedupe(broker, prefix, tmp_path)


def replayed(settings: Settings, *, count: int) -> list[bool]:
    """Whether each telling was marked, once DEDUPE was rewound and has told so many in all."""
    set_offset(settings, "dedupe", Topic.INBOUND_EVENTS, offset=0)
    with dedupe(settings) as process:
        await_records(settings, Topic.THREAD_EVENTS, count)
        # What it would tell beyond that comes before what is brought now.
        bring(settings, f"evt_after_{count}")
        await_records(settings, Topic.THREAD_EVENTS, count + 1)
        assert process.terminate() == 0
    return [REPLAY in record.headers for record in records_in(settings, Topic.THREAD_EVENTS)]


def test_event_with_copies_is_told_once_by_each_replay_whatever_compaction_left(
    settings: Settings,
) -> None:
    """Only the copy that is remembered as the latest tells; compaction leaves that one."""
    with dedupe(settings) as process:
        bring(settings, *["evt_1"] * 5, "evt_2", "evt_1")
        await_records(settings, Topic.DUPLICATE_EVENTS, 5)
        await_records(settings, Topic.THREAD_EVENTS, 2)
        assert process.terminate() == 0

    first = replayed(settings, count=4)
    clean_soon(settings, Topic.INBOUND_EVENTS)
    bring(settings, "evt_3")
    await_cleaned(settings, Topic.INBOUND_EVENTS, most=4)
    # A stage does not start on a topic whose options are not ours.
    create_topics(settings)
    second = replayed(settings, count=9)

    assert first == [False, False, True, True, False]
    assert second == [*first, True, True, True, False, False]
