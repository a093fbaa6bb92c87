from schemas.commands import AskReply
from schemas.events import Kind
from schemas.topics import Topic
from tests.deciding import (
    INBOX,
    Deciding,
    a_directory,
    a_fact,
    a_mail,
    a_reply_sent,
    asks,
    audits,
    decisions,
    key_of,
    withdrawn,
)

MARK = "decide-0-17-1"


def test_mail_asked_before_is_asked_again_with_the_mark() -> None:
    """SEND, not DECIDE, knows whether it was answered; the mark lets it drop or hold the ask."""
    deciding = Deciding()
    (first,) = asks(deciding.give(a_mail()))

    outputs = deciding.give(a_mail(), mark=MARK)

    assert asks(outputs) == [first]
    assert {each.mark for each in outputs} == {MARK}


def test_repeated_decision_keeps_its_time_and_says_that_it_is_a_replay() -> None:
    """A replay re-tells every decision once, so that the topic can be built anew."""
    deciding = Deciding()
    (first,) = decisions(deciding.give(a_mail()))
    deciding.desk.now_ms += 1000

    (again,) = decisions(deciding.give(a_mail(), mark=MARK))

    assert (again.decided_at_ms, again.outcome, again.rule) == (
        first.decided_at_ms,
        first.outcome,
        first.rule,
    )
    assert (first.is_replay, again.is_replay) == (False, True)


def test_mail_asked_before_is_asked_again_though_the_route_has_changed() -> None:
    """What was owed stays owed: its outcome and rule are those of the first time."""
    deciding = Deciding()
    deciding.give(a_mail())
    deciding.redirect(a_directory("store"))

    (ask,) = asks(deciding.give(a_mail(), mark=MARK))

    assert (ask.outcome, ask.rule) == ("send", "route-send")


def test_mail_of_an_inbox_that_is_gone_is_not_asked_again() -> None:
    """Nothing can leave it, and what was decided stands."""
    deciding = Deciding()
    deciding.give(a_mail())
    elsewhere = a_directory()
    deciding.redirect(type(elsewhere)())

    assert deciding.give(a_mail(), mark=MARK) == []


def test_mail_not_asked_before_is_judged_anew() -> None:
    """An operator rewinds to let a better policy speak."""
    deciding = Deciding(a_directory("store"))
    deciding.give(a_mail())
    deciding.redirect(a_directory("send"))

    outputs = deciding.give(a_mail(), mark=MARK)

    assert [(each.rule, each.is_replay) for each in decisions(outputs)] == [("route-send", True)]
    assert [(each.before, each.after) for each in audits(outputs)] == [("store", "send")]
    assert [each.mark for each in outputs if each.topic is Topic.REPLY_COMMANDS] == [MARK]


def test_mail_never_seen_before_is_judged_under_the_mark() -> None:
    """A replay of an earlier stage may bring mail that was never here."""
    outputs = Deciding().give(a_mail(), mark=MARK)

    assert [each.is_replay for each in decisions(outputs)] == [True]
    assert [type(each) for each in asks(outputs)] == [AskReply]


def test_replay_neither_reads_nor_charges_caps() -> None:
    """A replay of a busy day must not silence today, and today must not silence the replay."""
    deciding = Deciding(cap_thread_hour=1)
    replayed = [deciding.rule(a_mail(f"m{number}"), mark=MARK) for number in range(3)]
    live = [deciding.rule(a_mail("live", at_ms=1)), deciding.rule(a_mail("more", at_ms=2))]
    after = deciding.rule(a_mail("again", at_ms=3), mark=MARK)

    assert replayed == ["route-send"] * 3
    assert live == ["route-send", "cap-thread"]
    assert after == "route-send"


def test_live_copy_after_a_replay_is_not_decided_again() -> None:
    """Whatever judged it, a mail is judged."""
    deciding = Deciding()
    deciding.give(a_mail(), mark=MARK)

    assert deciding.give(a_mail()) == []


def test_facts_in_a_replay_change_nothing() -> None:
    """They were taken in when they were news."""
    deciding = Deciding()
    before = dict(deciding.desk.state.rows)

    outputs = deciding.give(
        a_reply_sent(),
        a_fact(Kind.SENT),
        a_fact(Kind.COMPLAINED, recipients=("jane@customer.example",)),
        a_fact(Kind.SUPPRESSED, recipients=("jane@customer.example",)),
        mark=MARK,
    )

    assert outputs == []
    assert deciding.desk.state.rows == before


def test_erased_mail_is_not_told_again() -> None:
    """The ordered event still lies in its topic for a while; a replay must not bring it back."""
    deciding = Deciding()
    deciding.give(a_mail(), a_fact(Kind.ERASED, message_id="m@mail.customer.example"))

    assert deciding.give(a_mail(), mark=MARK) == []


def test_erasure_counts_in_a_replay_too() -> None:
    """Its order to SEND carries no mark, for marked orders are dropped there."""
    deciding = Deciding()
    deciding.give(a_mail())

    outputs = deciding.give(a_fact(Kind.ERASED, message_id="m@mail.customer.example"), mark=MARK)

    assert [(each.reply_key, each.reason) for each in withdrawn(outputs)] == [
        (key_of("m"), "erased")
    ]
    assert [(each.key, each.mark) for each in outputs] == [(INBOX, None)]
