"""WRITE as a process, on a real broker: requests in, orders to send out."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from ops.kafka.process import until
from schemas.cluster import admin, consumer_config, create_topics, transactional_config
from schemas.commands import COMMAND, SendReply
from schemas.settings import Settings
from schemas.topics import Topic
from tests.logs import await_records, corner, environ_of, put, records_in
from tests.processes import DEADLINE_S, Process, clean_environ
from tests.writing import an_event, request_bytes

# A key of partition 0; `reply-1` is of partition 3.
ELSEWHERE = "reply-2"
OWN = "tests.own_writers:write"


@pytest.fixture
def settings(broker: str, prefix: str, tmp_path: Path) -> Settings:
    """A corner of the broker with its topics, and a directory file."""
    (tmp_path / "onereply.toml").write_text("", encoding="utf-8")
    found = corner(
        broker,
        prefix,
        data_dir=str(tmp_path / "data"),
        config_file=str(tmp_path / "onereply.toml"),
        partitions=4,
        session_timeout_ms=6_000,
        transaction_timeout_ms=4_000,
        writer=OWN,
    )
    create_topics(found)
    return found


@contextmanager
def running(settings: Settings, **environ: str) -> Iterator[Process]:
    """WRITE, live."""
    with Process("processors", "write", environ=clean_environ(**environ_of(settings))) as process:
        process.start(**environ)
        process.wait_for("stage live")
        yield process


def ask(settings: Settings, *texts: str, key: str = "reply-1", **differences: Any) -> None:
    """Requests as SEND writes them: each the only one of its transaction, all with one key."""
    producer = Producer(transactional_config(settings, f"{settings.topic_prefix}tests-{key}"))
    producer.init_transactions(DEADLINE_S)
    for number, text in enumerate(texts, 1):
        value = request_bytes(ask_number=number, event=an_event(text=text), **differences)
        producer.begin_transaction()
        producer.produce(settings.shape().name(Topic.WRITER_REQUESTS), key=key, value=value)
        producer.commit_transaction(DEADLINE_S)


def replies(settings: Settings, count: int) -> list[SendReply]:
    """The first orders that came, each of which must be one to send."""
    found = [COMMAND.decode(record.value) for record in await_sent(settings, count)]
    assert all(isinstance(command, SendReply) for command in found)
    return [command for command in found if isinstance(command, SendReply)]


def await_sent(settings: Settings, count: int) -> Sequence[Any]:
    """The first records on `reply-commands`."""
    return await_records(settings, Topic.REPLY_COMMANDS, count)


def committed(settings: Settings) -> dict[int, int]:
    """The group's next offsets, where it has any."""
    name = settings.shape().name(Topic.WRITER_REQUESTS)
    consumer = Consumer(consumer_config(settings, group=f"{settings.topic_prefix}write"))
    try:
        asked = [TopicPartition(name, number) for number in range(settings.partitions)]
        found = consumer.committed(asked, DEADLINE_S)
        return {each.partition: each.offset for each in found if each.offset >= 0}
    finally:
        consumer.close()


def test_a_request_is_answered_with_its_own_ask_number(settings: Settings) -> None:
    """SEND takes the first text that answers an ask it still waits for."""
    with running(settings):
        ask(settings, "hello", "again")

        found = replies(settings, 2)

    assert [(reply.ask_number, reply.text) for reply in found] == [(1, "olleh"), (2, "niaga")]


def test_an_order_keeps_the_marks_of_its_request(settings: Settings) -> None:
    """SEND must see a replay as one, and a trace goes through."""
    producer = Producer(transactional_config(settings, f"{settings.topic_prefix}tests"))
    producer.init_transactions(DEADLINE_S)
    producer.begin_transaction()
    producer.produce(
        settings.shape().name(Topic.WRITER_REQUESTS),
        key="reply-1",
        value=request_bytes(),
        headers=[("onereply-replay", b"replay-7"), ("traceparent", b"00-1"), ("x-other", None)],
    )
    producer.commit_transaction(DEADLINE_S)
    with running(settings):
        (record,) = await_sent(settings, 1)

    names = ("onereply-replay", "traceparent", "ce_id", "x-other")
    assert [record.headers.get(name) for name in names] == [
        b"replay-7",
        b"00-1",
        b"reply-1/text/1",
        None,
    ]
    assert record.key == b"desk@example.com"


def test_a_request_that_cannot_be_answered_is_set_aside_and_the_next_one_is(
    settings: Settings,
) -> None:
    """One bad mail must not cost the others their replies."""
    with running(settings) as process:
        ask(settings, "raise", "exit", "nothing", "hello")
        put(settings, Topic.WRITER_REQUESTS, [(b"reply-9", b"{"), (b"reply-9", None)])

        found = replies(settings, 1)
        letters = await_records(settings, Topic.DEAD_LETTERS, 4)
        code = process.terminate()

    assert [(reply.ask_number, reply.text) for reply in found] == [(4, "olleh")]
    reasons = {letter.headers["onereply-dead-reason"] for letter in letters}
    assert {reason.partition(b":")[0] for reason in reasons if reason} == {
        b"the writer raised ValueError",
        b"the writer raised SystemExit",
        b"the writer gave back an empty text",
        b"Input data was truncated",
    }
    assert {(letter.key, letter.headers["onereply-dead-topic"]) for letter in letters} == {
        (key, settings.shape().name(Topic.WRITER_REQUESTS).encode())
        for key in (b"reply-1", b"reply-9")
    }
    assert code == 0


def test_no_log_line_holds_a_word_of_a_mail(settings: Settings) -> None:
    """Logs go to more places than mail does."""
    with running(settings) as process:
        ask(settings, "raise", "CANARY")
        replies(settings, 1)
        await_records(settings, Topic.DEAD_LETTERS, 1)
        process.terminate()

    said = "\n".join(process.lines)
    assert [word for word in ("CANARY", "YRANAC", "ann@", "Opening") if word in said] == []


def test_a_slow_writer_blocks_nobody_else(settings: Settings) -> None:
    """A model that takes a minute for one mail must not make the next one wait."""
    with running(settings, TESTS_HANG="1") as process:
        ask(settings, "hang", *["hello"] * 20)
        process.wait_for("writer hangs")

        found = replies(settings, 20)

    assert {reply.ask_number for reply in found} == set(range(2, 22))


def test_a_request_in_hand_is_answered_after_a_kill(settings: Settings) -> None:
    """Commits must not pass it by, however many requests behind it are answered."""
    with running(settings, TESTS_HANG="1") as process:
        ask(settings, "hang", *["hello"] * 20)
        process.wait_for("writer hangs")
        ask(settings, "hello", key=ELSEWHERE)
        replies(settings, 21)
        # The other key's partition is committed, so what could be committed of this one is, too.
        assert until(lambda: committed(settings).get(0) == 1, deadline_s=DEADLINE_S)
        process.kill()

        process.start()
        process.wait_for("stage live")
        found = await_answer(settings, text="gnah")

    assert found.ask_number == 1


def await_answer(settings: Settings, *, text: str) -> SendReply:
    """The first order with this text."""
    count = 0
    while True:
        count += 1
        for reply in replies(settings, count):
            if reply.text == text:
                return reply


def test_a_request_in_hand_is_answered_after_a_stop(settings: Settings) -> None:
    """A stop cuts the writer off; that is no answer."""
    with running(settings, TESTS_HANG="1") as process:
        ask(settings, "hang")
        process.wait_for("writer hangs")
        code = process.terminate()

        process.start()
        (found,) = replies(settings, 1)

    assert (code, found.text) == (0, "gnah")


def test_answered_requests_are_not_asked_again_after_a_stop(settings: Settings) -> None:
    """Each costs a call of somebody's model, also where commit markers lie between requests."""
    with running(settings) as process:
        for key in ("reply-1", "reply-2", "reply-3"):
            ask(settings, *["hello"] * 30, key=key)
        replies(settings, 90)
        process.terminate()

        process.start()
        process.wait_for("stage live")
        ask(settings, "last")
        await_answer(settings, text="tsal")

    assert len(records_in(settings, Topic.REPLY_COMMANDS)) == 91


def test_commits_keep_up_with_answers(settings: Settings) -> None:
    """After a kill only the last second is asked again, also with markers between requests."""
    with running(settings):
        ask(settings, *["hello"] * 30)
        replies(settings, 30)
        last = max(record.offset for record in records_in(settings, Topic.WRITER_REQUESTS))

        assert until(lambda: last + 1 in committed(settings).values(), deadline_s=DEADLINE_S)


def test_a_request_that_was_rolled_back_is_never_seen(settings: Settings) -> None:
    """SEND took it back; its text would answer nothing."""
    producer = Producer(transactional_config(settings, f"{settings.topic_prefix}tests"))
    producer.init_transactions(DEADLINE_S)
    with running(settings):
        producer.begin_transaction()
        producer.produce(
            settings.shape().name(Topic.WRITER_REQUESTS),
            key="reply-1",
            value=request_bytes(ask_number=7, event=an_event(text="rolled back")),
        )
        producer.flush(DEADLINE_S)
        producer.abort_transaction(DEADLINE_S)
        ask(settings, "hello")

        found = replies(settings, 1)

    assert [reply.text for reply in found] == ["olleh"]
    assert len(records_in(settings, Topic.REPLY_COMMANDS)) == 1


def test_the_writer_leaves_no_topic_behind(settings: Settings) -> None:
    """Topics are declared in one place, and nowhere else."""
    with running(settings) as process:
        ask(settings, "hello")
        replies(settings, 1)
        process.terminate()

    ours = admin(settings).list_topics(timeout=DEADLINE_S).topics
    assert {name for name in ours if name.startswith(settings.topic_prefix)} == {
        settings.shape().name(topic) for topic in Topic
    }


def test_a_writer_that_cannot_be_loaded_ends_the_process_with_a_sentence(
    settings: Settings,
) -> None:
    """The supervisor must not try for ever what only a person can mend."""
    environ = environ_of(settings) | {"ONEREPLY_WRITER": "no_such_module:write"}
    with Process("processors", "write", environ=clean_environ(**environ)) as process:
        process.start()
        code = process.ended()

    assert code == 2
    last = json.loads(process.lines[-1])
    assert last["reason"] == (
        "ONEREPLY_WRITER: module no_such_module cannot be imported: "
        "ModuleNotFoundError: No module named 'no_such_module'"
    )
