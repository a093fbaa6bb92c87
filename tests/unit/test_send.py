"""SEND from the ask to the text: the thread's turn, writers that are late, holds, what is told."""

from typing import Any

import msgspec
import pytest

from processors.core.ledger_rows import ASKS, LEDGER, REQUESTS, SAID, TEXTS
from processors.core.outcomes import Answer
from processors.core.send import MOST_COMMAND_BYTES, keys, on_record
from processors.core.send_commands import text_hash
from processors.core.send_outputs import MOST_FACT_CHARS, merged_log
from processors.core.thread_log import MOST_MESSAGES, MOST_TEXT_CHARS
from schemas.codec import to_json
from schemas.commands import (
    AUDIT_ENTRY,
    COMMAND,
    AskReply,
    DeliveryFact,
    Said,
    SendReply,
    Withdraw,
)
from schemas.errors import DecodeError, Refused, TooLarge
from schemas.events import THREAD_EVENT, Position
from schemas.headers import CE_ID, CE_TYPE, DEAD_OFFSET, DEAD_STAGE, DEAD_TOPIC, header
from schemas.keys import MessageId
from schemas.topics import THREAD_CONTEXT_LIMIT_BYTES, Topic
from tests.sending import (
    DAY_MS,
    HOUR_MS,
    INBOX,
    MINUTE_MS,
    POLICY,
    SECOND_MS,
    SENT,
    Sender,
    a_sender,
    a_text,
    an_ask,
    key_of,
)
from tests.turns import NOW_MS

KEY = key_of("m1")
REDRIVEN = ((DEAD_STAGE, b"send"),)


def _withdrawal(name: str = "m1", reason: str = "opt-out") -> Withdraw:
    return Withdraw(reply_key=key_of(name), inbox_id=INBOX, reason=reason)


def contents(sender: Sender) -> list[object]:
    """What is kept of a reply besides its row."""
    turn = sender.desk.turn()
    kept = (turn.get(ASKS, KEY), turn.get(TEXTS, KEY), turn.get(REQUESTS, KEY))
    return [each for each in kept if each is not None]


# -- the thread's turn


def test_first_reply_of_a_thread_is_asked_at_once() -> None:
    """Nobody waits where nobody is ahead."""
    sender = a_sender(an_ask())

    assert [(each.reply_key, each.ask_number) for each in sender.requests()] == [(key_of("m1"), 1)]


def test_next_reply_is_asked_when_the_first_is_sent() -> None:
    """Its writer must see what we said before."""
    sender = a_sender(an_ask("m1"), an_ask("m2", nth=2), a_text("m1"))

    sender.answer(SENT)

    second = sender.requests()[1]
    assert second.reply_key == key_of("m2")
    assert [(said.role, said.text) for said in second.log] == [("us", "Answer to m1")]


def test_replies_of_a_thread_are_asked_by_position_not_arrival() -> None:
    """A correction must be answered after what it corrects, whichever was decided first."""
    sender = a_sender(an_ask("m1"), an_ask("m4", nth=4), an_ask("m3", nth=3), a_text("m1"))

    sender.answer(SENT)

    assert sender.requests()[1].reply_key == key_of("m3")


def test_equal_times_are_asked_by_their_ties() -> None:
    """Position's last part is a text, which state keys order by length first."""
    late = an_ask("b", nth=5)
    early = msgspec.structs.replace(
        an_ask("aaaa", nth=5), position=msgspec.structs.replace(late.position, tie="aaaa")
    )
    sender = a_sender(an_ask("m1"), late, early, a_text("m1"))

    sender.answer(SENT)

    assert sender.requests()[1].reply_key == key_of("aaaa")


def test_other_threads_do_not_wait() -> None:
    """A thread's order is its own."""
    sender = a_sender(an_ask("m1"), an_ask("m2", thread="thd_2"))

    assert [each.reply_key for each in sender.requests()] == [key_of("m1"), key_of("m2")]


def test_held_reply_loses_its_place() -> None:
    """A person may take days; the thread goes on."""
    sender = a_sender(an_ask("m1"), an_ask("m2", nth=2), a_text("m1", needs_approval=True))

    assert (sender.state("m1"), sender.state("m2")) == ("held-review", "asked")


def test_released_reply_takes_its_turn() -> None:
    """It goes where its position says, behind what is open."""
    sender = a_sender(an_ask("m2", nth=2))
    sender.give(an_ask("m1", nth=1), mark="replay-1")

    sender.release("m1")

    assert (sender.state("m1"), sender.state("m2")) == ("queued", "asked")


# -- writers


def test_reply_without_a_text_is_asked_again_and_the_wait_doubles() -> None:
    """WRITE may lose a request: the ask lives here."""
    sender = a_sender(an_ask())

    sender.wait(4 * MINUTE_MS)
    early = len(sender.requests())
    sender.wait(31 * MINUTE_MS)

    numbers = [each.ask_number for each in sender.requests()]
    assert (early, numbers) == (1, [1, 2, 3, 4])
    assert sender.row().wake_at_ms - sender.desk.now_ms == 40 * MINUTE_MS


def test_slow_reply_lets_its_thread_go_on() -> None:
    """One writer that hangs must not silence a thread."""
    sender = a_sender(an_ask("m1"), an_ask("m2", nth=2))

    sender.wait(5 * MINUTE_MS)

    assert (sender.row("m1").is_slow, sender.state("m2")) == (True, "asked")


def test_slow_reply_goes_out_when_its_text_comes() -> None:
    """Late is better than never, and it does not wait for the thread again."""
    sender = a_sender(an_ask("m1"), an_ask("m2", nth=2))
    sender.wait(5 * MINUTE_MS)

    sender.give(a_text("m1"))

    assert (sender.state("m1"), sender.state("m2")) == ("posting", "asked")


def test_first_text_wins() -> None:
    """A writer that is asked twice may answer twice, in other words."""
    sender = a_sender(an_ask(), a_text(text="first"), a_text(text="second"))

    sender.answer(SENT)
    sender.give(a_text(text="third"))

    facts = sender.told(Topic.THREAD_EVENTS, THREAD_EVENT)
    assert [each.text for each in facts] == ["first"]


def test_text_to_an_older_ask_counts() -> None:
    """It is an answer to the same mail."""
    sender = a_sender(an_ask())
    sender.wait(6 * MINUTE_MS)

    sender.give(a_text(ask_number=1))

    assert sender.state() == "posting"


def test_reply_that_no_writer_answers_is_given_up_with_its_ask() -> None:
    """After a day somebody has to look; redriving the ask starts again."""
    sender = a_sender(an_ask())

    sender.wait(25 * HOUR_MS)

    assert sender.state() == "given-up"
    (dead,) = sender.dead_letters()
    assert COMMAND.decode(dead.value) == an_ask()
    assert (dead.key, header(dead.headers, DEAD_TOPIC)) == (INBOX, "topic")
    assert header(dead.headers, DEAD_OFFSET) == "0"


def test_redriven_ask_is_asked_with_the_next_number() -> None:
    """The writer is mended, and the reply is owed still."""
    sender = a_sender(an_ask())
    sender.wait(25 * HOUR_MS)
    asked = sender.row().ask_number

    sender.give(an_ask(), headers=REDRIVEN)

    assert (sender.state(), sender.row().ask_number) == ("asked", asked + 1)
    assert not sender.row().is_slow


# -- the log


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


# -- holds


def test_route_that_holds_has_every_text_reviewed() -> None:
    """Draft and hold are asked like a send, and held here."""
    sender = a_sender(an_ask("m1", outcome="hold"), a_text("m1"))

    (receipt,) = sender.receipts()
    assert (receipt.state, receipt.reason, receipt.hold_number) == ("held", "review", 1)
    assert receipt.text_hash == text_hash("Answer to m1", None)


def test_approved_text_goes_out_as_it_was_seen() -> None:
    """Whoever approved saw these words."""
    sender = a_sender(an_ask(outcome="draft"), a_text())

    sender.approve()
    sender.answer(SENT)

    assert [each.state for each in sender.receipts()] == ["held", "sent"]


def test_first_decision_wins() -> None:
    """Two people look at one list."""
    sender = a_sender(an_ask(), a_text(needs_approval=True))
    row = sender.row()

    sender.deny()
    sender.approve(hold_number=row.hold_number, text_hash=row.text_hash)

    assert sender.state() == "refused"


def test_text_that_nobody_decides_on_expires() -> None:
    """A hold ends by itself, and says so."""
    sender = a_sender(an_ask(), a_text(needs_approval=True))

    sender.wait(8 * DAY_MS)

    assert sender.receipts()[-1].reason == "expired"


def test_html_is_part_of_what_was_approved() -> None:
    """A text with another HTML part is another mail."""
    assert len({text_hash("a", None), text_hash("a", ""), text_hash("a", "b")}) == 3


# -- what is told


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


# -- withdrawals, erasure, delivery


def test_withdrawal_during_a_call_counts_if_nothing_was_sent() -> None:
    """The recipient opted out while sends were stopped: the reply must not go when they start."""
    sender = a_sender(an_ask(), a_text())

    sender.give(_withdrawal())
    sender.answer(Answer(status=401))

    assert (sender.state(), sender.receipts()[-1].reason) == ("refused", "opt-out")


def test_withdrawal_during_a_call_that_succeeds_comes_too_late() -> None:
    """What is sent is sent, and is told so."""
    sender = a_sender(an_ask(), a_text())

    sender.give(_withdrawal())
    sender.answer(SENT)

    assert sender.state() == "sent"


def test_withdrawal_during_a_call_without_an_answer_does_not_hide_it() -> None:
    """A mail may be out there: the ledger must not say refused."""
    sender = a_sender(an_ask(), a_text())

    sender.give(_withdrawal())
    sender.answer(Answer(status=500))

    assert sender.state() == "due"


def test_withdrawn_reply_frees_its_thread() -> None:
    """The next one is asked."""
    sender = a_sender(an_ask("m1"), an_ask("m2", nth=2))

    sender.give(_withdrawal("m1"))

    assert sender.state("m2") == "asked"


def test_erased_reply_leaves_no_content() -> None:
    """Ask, text and request go at once, not in a week."""
    sender = a_sender(an_ask(), a_text())
    sender.answer(SENT)

    sender.give(_withdrawal(reason="erased"))
    sender.wait(0)

    assert contents(sender) == []
    assert (sender.state(), sender.row().is_swept) == ("sent", True)


def test_reply_that_is_erased_in_flight_is_settled_first_and_says_nothing_of_its_text() -> None:
    """One in flight cannot be called back; its words go nowhere else."""
    sender = a_sender(an_ask(), a_text())

    sender.give(_withdrawal(reason="erased"))
    sender.answer(SENT)
    sender.wait(0)

    (fact,) = sender.told(Topic.THREAD_EVENTS, THREAD_EVENT)
    assert (sender.state(), fact.text) == ("sent", None)
    assert sender.desk.turn().get(TEXTS, key_of("m1")) is None


def test_erased_reply_is_given_up_without_a_dead_letter() -> None:
    """A dead letter would keep what was to be forgotten."""
    sender = a_sender(an_ask(), a_text())

    sender.give(_withdrawal(reason="erased"))
    sender.answer(Answer(status=422))

    assert (sender.state(), sender.dead_letters()) == ("given-up", [])


def test_replayed_erasure_lets_the_thread_go_on_without_a_mark() -> None:
    """The text that is asked for then is an ordinary one, and must not be dropped."""
    sender = a_sender(an_ask("m1"), an_ask("m2", nth=2))

    sender.give(_withdrawal("m1", reason="erased"), mark="replay-1")

    asked = [each for each in sender.outputs if each.topic == Topic.WRITER_REQUESTS]
    assert (sender.state("m2"), asked[-1].mark) == ("asked", None)


def test_latest_delivery_fact_is_kept_apart_from_the_state() -> None:
    """Accepted by the provider is one thing, what became of the mail another."""
    sender = a_sender(an_ask(), a_text())
    sender.answer(SENT)
    known: dict[str, Any] = {"reply_key": key_of("m1"), "inbox_id": INBOX}

    sender.give(DeliveryFact(kind="message.bounced", occurred_at_ns=2, **known))
    sender.give(DeliveryFact(kind="message.delivered", occurred_at_ns=1, **known))
    sender.give(DeliveryFact(kind="message.complained", occurred_at_ns=9, **known), mark="r")

    row = sender.row()
    assert (row.state, row.delivery, row.delivery_at_ns) == ("sent", "message.bounced", 2)


# -- age


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


# -- records that cannot be carried out


def test_deletion_is_no_command() -> None:
    """A record without a value orders nothing."""
    sender = a_sender()
    record = sender.desk.record(None)

    on_record(record, sender.desk.turn(record), policy=POLICY)

    assert (keys(record), sender.desk.state.rows) == ((), {})


def test_record_that_is_no_command_is_refused() -> None:
    """The runtime makes it a dead letter."""
    sender = a_sender()
    record = sender.desk.record(b"{}")

    with pytest.raises(DecodeError):
        on_record(record, sender.desk.turn(record), policy=POLICY)


def test_rows_that_a_command_needs_are_named() -> None:
    """A batch reads them in one go."""
    sender = a_sender()

    named = keys(sender.desk.record(to_json(a_text())))

    assert named[0] == LEDGER.key(key_of("m1"))


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (an_ask(provider="pigeon"), "no replies through provider pigeon"),
        (an_ask(outcome="maybe"), "an ask's outcome is not maybe"),
    ],
)
def test_ask_that_cannot_be_kept_is_refused(ask: AskReply, words: str) -> None:
    """Better a dead letter now than a reply that nobody can post."""
    sender = a_sender()

    with pytest.raises(Refused, match=words):
        sender.give(ask)

    assert sender.desk.state.rows == {}


def test_command_that_is_too_large_is_refused() -> None:
    """All that SEND makes of a command must fit a record."""
    sender = a_sender(an_ask())

    with pytest.raises(TooLarge):
        sender.give(a_text(text="x" * MOST_COMMAND_BYTES))

    assert sender.state() == "asked"


# -- redriven texts


def test_rejected_reply_may_be_redriven_with_a_new_text() -> None:
    """The provider would refuse the old one again."""
    sender = a_sender(an_ask(), a_text(text="too long"))
    sender.answer(Answer(status=422))

    sender.give(a_text(text="short"), headers=REDRIVEN)

    assert b"short" in sender.calls[0].request.request.body
    assert sender.row().text_hash == text_hash("short", None)


def test_reply_given_up_by_age_is_redriven_with_its_own_bytes() -> None:
    """Its key may be known at the provider, with these bytes."""
    sender = a_sender(an_ask(), a_text(text="first"))
    first = sender.answer(Answer(status=429, retry_after="3600"))
    for _ in range(23):
        sender.wait_for_call()
        sender.answer(Answer(status=429, retry_after="3600"))
    sender.wait(HOUR_MS)
    assert sender.state() == "given-up"

    sender.give(a_text(text="second"), headers=REDRIVEN)

    assert [each.request.request for each in sender.calls] == [first.request.request]


def test_reply_that_may_have_been_sent_is_not_redriven() -> None:
    """Only a person who looked may send it again."""
    sender = a_sender(an_ask(), a_text())
    sender.answer(Answer(status=500))
    sender.wait_for_call()
    sender.answer(Answer(status=422))

    sender.give(a_text(), headers=REDRIVEN)

    assert sender.state() == "given-up"


def test_reply_whose_content_is_gone_cannot_be_redriven() -> None:
    """It says so, instead of sending half a mail."""
    sender = a_sender(an_ask(), a_text())
    sender.answer(Answer(status=422))
    sender.wait(8 * DAY_MS)

    with pytest.raises(Refused, match="no longer kept"):
        sender.give(a_text(), headers=REDRIVEN)


def test_erased_ask_cannot_be_redriven() -> None:
    """What was erased does not come back from a dead letter."""
    sender = a_sender(an_ask())
    sender.wait(25 * HOUR_MS)
    sender.give(_withdrawal(reason="erased"))

    with pytest.raises(Refused, match="erased"):
        sender.give(an_ask(), headers=REDRIVEN)


def test_dead_letter_carries_the_text_as_it_came() -> None:
    """Redriving it must bring back all that the writer said."""
    sender = a_sender(an_ask(outcome="hold"))
    text = SendReply(
        reply_key=key_of("m1"),
        inbox_id=INBOX,
        ask_number=1,
        text="words",
        html="<p>words</p>",
        needs_approval=True,
        summary="a summary",
        evidence=msgspec.Raw(b'{"order":1}'),
    )
    sender.give(text)
    sender.approve()

    sender.answer(Answer(status=422))

    (dead,) = sender.dead_letters()
    assert to_json(COMMAND.decode(dead.value)) == to_json(text)
    assert sender.desk.now_ms == NOW_MS
