"""What SEND tells: the log for the next writer, facts, receipts, audit; and what it forgets."""

import msgspec
import pytest

from processors.core.ledger_rows import ASKS, LEDGER, REQUESTS, SAID, TEXTS
from processors.core.outcomes import Answer
from processors.core.send_outputs import MOST_FACT_CHARS, merged_log
from processors.core.thread_log import MOST_MESSAGES, MOST_TEXT_CHARS
from schemas.codec import to_json
from schemas.commands import (
    AUDIT_ENTRY,
    Said,
)
from schemas.events import THREAD_EVENT, Position
from schemas.headers import CE_ID, CE_TYPE, header
from schemas.keys import MessageId
from schemas.topics import THREAD_CONTEXT_LIMIT_BYTES, Topic
from tests.sending import (
    DAY_MS,
    SECOND_MS,
    SENT,
    Sender,
    a_sender,
    a_text,
    an_ask,
    key_of,
)

KEY = key_of("m1")


def contents(sender: Sender) -> list[object]:
    """What is kept of a reply besides its row."""
    turn = sender.desk.turn()
    kept = (turn.get(ASKS, KEY), turn.get(TEXTS, KEY), turn.get(REQUESTS, KEY))
    return [each for each in kept if each is not None]


def a_saying(nth: int, **differences: object) -> Said:
    """One saying at that place."""
    said = Said(role="us", position=Position(occurred_at_ns=nth), text=f"words {nth}")
    return msgspec.structs.replace(said, **differences)


def test_log_has_each_saying_once_in_order() -> None:
    """DECIDE may know of our reply already, by its id or by its place."""
    known = a_saying(1, message_id=MessageId("r1"))
    placed = a_saying(3)
    since = [a_saying(2), placed, a_saying(9, message_id=MessageId("r1")), a_saying(4)]

    log, is_cut = merged_log((known, placed), since)

    assert [said.position.occurred_at_ns for said in log] == [1, 2, 3, 4]
    assert not is_cut


def test_log_that_is_too_long_loses_its_oldest() -> None:
    """A writer can do without the beginning of a long thread, not without its end."""
    sayings = tuple(a_saying(nth, text="x" * 60_000) for nth in range(6))

    log, is_cut = merged_log(sayings, [])

    assert [said.position.occurred_at_ns for said in log] == [2, 3, 4, 5]
    assert len(to_json(log)) <= THREAD_CONTEXT_LIMIT_BYTES
    assert is_cut


def test_only_the_latest_sayings_of_a_thread_are_kept() -> None:
    """A thread that is answered for ever must not grow with it."""
    count = MOST_MESSAGES + 3
    sender = a_sender()
    for nth in range(count):
        sender.give(an_ask(f"m{nth}", nth=nth))
        sender.give(a_text(f"m{nth}"))
        sender.answer(Answer(status=200, message_id=f"<r{nth}@inbox.example>"))
        sender.desk.now_ms += SECOND_MS

    sender.give(an_ask("last", nth=count))

    said = [each.text for each in sender.requests()[-1].log]
    assert said == [f"Answer to m{nth}" for nth in range(3, count)]


def test_sent_reply_is_told_to_its_thread() -> None:
    """REORDER and DECIDE know our replies by their ids and their parents."""
    sender = a_sender(an_ask(), a_text())

    sender.answer(SENT)

    (fact,) = sender.told(Topic.THREAD_EVENTS, THREAD_EVENT)
    assert (fact.kind, fact.message_id) == ("reply.sent", "r1@inbox.example")
    assert (fact.parents, fact.thread_key) == (("m1@customer.example",), "thd_1")
    assert (fact.reply_key, fact.text) == (key_of("m1"), "Answer to m1")
    assert fact.provider_message_id == "<r1@inbox.example>"
    assert fact.event_key == f"onereply:send/{key_of('m1')}"
    assert fact.occurred_at_ns == sender.desk.now_ms * 1_000_000


def test_long_text_is_cut_in_the_fact_and_in_the_log_only() -> None:
    """The mail goes out whole; what repeats it says that it is cut."""
    words = "x" * (MOST_FACT_CHARS + 1)
    sender = a_sender(an_ask(), a_text(text=words), an_ask("m2", nth=2))

    body = sender.answer(SENT).request.request.body

    (fact,) = sender.told(Topic.THREAD_EVENTS, THREAD_EVENT)
    (said,) = sender.requests()[1].log
    assert words.encode() in body
    assert (len(fact.text or ""), fact.is_truncated) == (MOST_FACT_CHARS, True)
    assert (len(said.text or ""), said.is_truncated) == (MOST_TEXT_CHARS, True)


def test_every_move_is_audited_with_before_and_after() -> None:
    """An operator can tell a reply's whole story."""
    sender = a_sender(an_ask(), a_text(needs_approval=True))
    sender.approve(why="fine")
    sender.answer(SENT)

    entries = sender.told(Topic.AUDIT, AUDIT_ENTRY)
    assert [(each.before, each.after, each.by, each.why) for each in entries] == [
        (None, "queued", "decide", None),
        ("queued", "asked", "send", None),
        ("asked", "held-review", "write", "review"),
        ("held-review", "due", "ann", "fine"),
        ("due", "posting", "send", None),
        ("posting", "sent", "send", None),
    ]


def test_receipts_and_audit_hold_no_content() -> None:
    """They are kept for more than a year, and erasing does not reach them."""
    sender = a_sender(an_ask(), a_text(text="secret words", summary="secret summary"))
    sender.answer(SENT)

    kept = [each for each in sender.outputs if each.topic in (Topic.AUDIT, Topic.REPLY_RECEIPTS)]
    assert [each for each in kept if b"secret" in (each.value or b"")] == []


def test_receipts_of_one_reply_have_names_of_their_own() -> None:
    """CloudEvents tells records apart by source and id."""
    sender = a_sender(an_ask(), a_text(needs_approval=True))
    sender.approve()
    sender.answer(SENT)

    told = [each for each in sender.outputs if each.topic == Topic.REPLY_RECEIPTS]
    assert [header(each.headers, CE_TYPE) for each in told] == [
        "onereply.receipt.held",
        "onereply.receipt.sent",
    ]
    assert len({header(each.headers, CE_ID) for each in told}) == 2


def test_held_reply_of_a_replay_is_told_under_its_mark() -> None:
    """The mark travels with all that a replay causes."""
    sender = a_sender()

    sender.give(an_ask(), mark="replay-1")

    assert {each.mark for each in sender.outputs} == {"replay-1"}


def test_content_goes_a_week_after_settlement_and_the_row_stays() -> None:
    """Bytes are kept as long as somebody may look into them; the memory of the reply longer."""
    sender = a_sender(an_ask(), a_text())
    sender.answer(SENT)

    sender.wait(7 * DAY_MS - SECOND_MS)
    before = sender.desk.turn().get(REQUESTS, key_of("m1"))
    sender.wait(2 * SECOND_MS)

    assert before is not None
    assert contents(sender) == []
    assert list(sender.desk.turn().rows(SAID)) == []
    assert sender.state() == "sent"


@pytest.mark.parametrize("name", ["sent", "held"])
def test_row_is_forgotten_after_400_days(name: str) -> None:
    """State does not grow for ever."""
    sender = a_sender()
    sender.give(an_ask(), mark=None if name == "sent" else "replay-1")
    if name == "sent":
        sender.give(a_text())
        sender.answer(SENT)

    sender.wait(400 * DAY_MS)

    assert list(sender.desk.turn().rows(LEDGER)) == []
    assert sender.desk.timers.waiting == set()
