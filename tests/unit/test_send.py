"""SEND from the ask to the text: the thread's turn, writers that are late, holds."""

import msgspec

from processors.core.send_commands import text_hash
from schemas.commands import (
    COMMAND,
)
from schemas.events import THREAD_EVENT
from schemas.headers import DEAD_OFFSET, DEAD_STAGE, DEAD_TOPIC, header
from schemas.topics import Topic
from tests.sending import (
    DAY_MS,
    HOUR_MS,
    INBOX,
    MINUTE_MS,
    SECOND_MS,
    SENT,
    a_sender,
    a_text,
    an_ask,
    key_of,
)

REDRIVEN = ((DEAD_STAGE, b"send"),)


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
    """A hold ends by itself, after as long as the settings say, and says so."""
    sender = a_sender(an_ask(), a_text(needs_approval=True), approval_expiry_ms=DAY_MS)

    sender.wait(DAY_MS - SECOND_MS)
    before = sender.state()
    sender.wait(2 * SECOND_MS)

    assert before == "held-review"
    assert sender.receipts()[-1].reason == "expired"


def test_html_is_part_of_what_was_approved() -> None:
    """A text with another HTML part is another mail."""
    assert len({text_hash("a", None), text_hash("a", ""), text_hash("a", "b")}) == 3
