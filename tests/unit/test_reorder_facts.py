import pytest

from processors.core.reorder_rows import IDENTITIES, Identity
from schemas.events import Kind, OrderedEvent, Position
from schemas.keys import ThreadKey
from tests.reordering import (
    INBOX,
    Reordering,
    a_fact,
    a_mail,
    an_announcement,
    an_answer,
    an_opening,
    names,
)
from tests.turns import NOW_MS

TELL_OF_A_MESSAGE = (
    "reply.sent",
    "message.sent",
    "message.delivered",
    "message.bounced",
    "message.complained",
    "message.rejected",
    "message.opened",
    "message.received.spam",
    "message.received.blocked",
    "message.received.unauthenticated",
)


def test_fact_passes_without_waiting() -> None:
    """A bounce stops replies; it must not queue behind a mail that waits."""
    stage = Reordering()
    stage.give(a_mail("held"))
    bounce = a_fact(Kind.BOUNCED, "ours", at_ms=3)

    stage.give(bounce)

    position = Position(occurred_at_ns=(NOW_MS + 3) * 1_000_000, tie="message.bounced-ours")
    assert stage.ordered == [OrderedEvent(event=bounce, position=position, released="fact")]


def test_fact_is_never_late_and_makes_nothing_late() -> None:
    """Only mails are put in order."""
    stage = Reordering()

    stage.give(
        an_opening("root", at_ms=5),
        a_fact(Kind.SENT, "ours", at_ms=1),
        a_fact(Kind.DELIVERED, "ours", at_ms=99),
        an_answer("next", "root", at_ms=6),
    )

    assert [each.late_by_ms for each in stage.ordered] == [None] * 4


def test_two_facts_about_one_message_are_two_facts() -> None:
    """Facts have no message identity: sent and bounced name the same id."""
    stage = Reordering()

    stage.give(a_fact(Kind.SENT, "ours"), a_fact(Kind.BOUNCED, "ours"))

    assert [each.event.kind for each in stage.ordered] == ["message.sent", "message.bounced"]


@pytest.mark.parametrize("kind", TELL_OF_A_MESSAGE)
def test_message_that_a_fact_tells_of_is_a_known_parent(kind: str) -> None:
    """An answer to our own reply never waits, so a conversation flows."""
    stage = Reordering()
    stage.give(a_fact(kind, "ours"))

    assert stage.give(an_answer("answer", "ours")) == ["answer"]


@pytest.mark.parametrize("kind", TELL_OF_A_MESSAGE)
def test_fact_releases_the_answer_that_was_faster(kind: str) -> None:
    """A customer may answer before the provider says that our reply went out."""
    stage = Reordering()
    stage.give(an_answer("answer", "ours", thread_key=ThreadKey("u")))

    assert stage.give(a_fact(kind, "ours"))[1:] == ["answer"]


@pytest.mark.parametrize("kind", [Kind.OTHER, Kind.SUPPRESSED, "message.security.review"])
def test_other_facts_make_no_message_known(kind: str) -> None:
    """What only mentions a message does not say that it went its way."""
    stage = Reordering()
    stage.give(an_answer("answer", "mentioned"))

    stage.give(a_fact(kind, "mentioned"))

    assert names(stage.outputs) == [f"{kind}-mentioned"]


def test_fact_does_not_release_a_mail_that_is_held_itself() -> None:
    """A mail of that id is here: its answers wait for it, not for what is said of it."""
    stage = Reordering()
    stage.give(a_mail("m"), an_answer("answer", "m", at_ms=1))

    assert stage.give(a_fact(Kind.OPENED, "m")) == ["message.opened-m"]


def test_fact_about_nothing_is_passed_on() -> None:
    """Events of unknown types are kept and passed on, never answered."""
    stage = Reordering()

    stage.give(a_fact(Kind.OTHER), a_fact(Kind.SENT))

    assert [each.released for each in stage.ordered] == ["fact", "fact"]
    assert stage.desk.state.rows == {}


def test_replayed_fact_ends_here_but_is_remembered() -> None:
    """Its readers have acted on it; that the message exists stays true."""
    stage = Reordering()

    stage.give(a_fact(Kind.REPLY_SENT, "ours"), mark="replay-1")

    assert stage.outputs == []
    assert stage.give(an_answer("answer", "ours")) == ["answer"]


@pytest.mark.parametrize("mark", [None, "replay-1"])
def test_erasure_passes_also_in_a_replay(mark: str | None) -> None:
    """Whoever holds the content must hear of it, however often it is said."""
    stage = Reordering()

    stage.give(a_fact(Kind.ERASED, "m"), mark=mark)

    assert [(each.topic, each.mark) for each in stage.outputs] == [("ordered-events", mark)]
    assert stage.desk.state.rows == {}


def test_erasure_takes_a_held_mail_away() -> None:
    """Content that is still held here must go as well, and hold nobody up."""
    stage = Reordering()
    stage.give(a_mail("m"), an_answer("answer", "m", at_ms=1))
    stage.give(an_answer("elsewhere", "m", at_ms=1, thread_key=ThreadKey("u")))

    released = stage.give(a_fact(Kind.ERASED, "m"))

    assert released == ["message.erased-m", "answer", "elsewhere"]
    assert stage.wait(300_000) == []
    assert b"hash of m" not in b"".join(
        value for key, value in stage.desk.state.rows.items() if key[0] not in IDENTITIES.key()
    )


def test_erasure_takes_an_announcement_away() -> None:
    """A mail that is to be forgotten need not be fetched."""
    stage = Reordering()
    stage.give(an_announcement("m"), a_mail("later", at_ms=1))

    stage.give(a_fact(Kind.ERASED, "m"))

    assert stage.wait(2_000) == ["later"]
    assert stage.held == []


def test_erased_mail_is_not_told_again() -> None:
    """Its record may stand on the input for a week; a replay must not bring it back."""
    stage = Reordering()
    stage.give(an_opening("m"), a_fact(Kind.ERASED, "m"))
    count = len(stage.outputs)

    stage.give(an_opening("m"), mark="replay-1")

    assert len(stage.outputs) == count


def test_copy_of_an_erased_mail_is_a_duplicate() -> None:
    """The mail is gone; that a copy came is still said, without content."""
    stage = Reordering()
    stage.give(an_opening("m"), a_fact(Kind.ERASED, "m"))

    stage.give(an_opening("m"))

    assert [each.reason for each in stage.duplicates] == ["same-event"]


@pytest.mark.parametrize("known_by", ["fact", "child"])
def test_erasure_of_a_mail_that_never_came_erases_nothing(known_by: str) -> None:
    """Rows about ids alone hold no content, and are still needed."""
    stage = Reordering()
    stage.give(a_fact(Kind.SENT, "m") if known_by == "fact" else an_answer("answer", "m"))
    before = stage.turn().get(IDENTITIES, INBOX, "m")

    stage.give(a_fact(Kind.ERASED, "m"))

    assert isinstance(before, Identity)
    assert stage.turn().get(IDENTITIES, INBOX, "m") == before
