"""What survives a kill: the state file and what is rebuilt from it."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ops.standin.clock import Clock
from ops.standin.deliver import Deliverer
from ops.standin.entries import (
    AcceptedMail,
    ClockAdvanced,
    Entry,
    InboxOpened,
    MailAccepted,
    MailReceived,
    Reset,
)
from ops.standin.idempotency import Answer, Repeated
from ops.standin.inbound import InboundBody, InboundMail, receive
from ops.standin.journal import FileJournal, NoJournal, StateFileError
from ops.standin.messages import Message
from ops.standin.payloads import message_received
from ops.standin.refusals import ApiError
from ops.standin.standin import Standin
from ops.standin.state import Setup, State

T0 = datetime(2026, 11, 30, 10, tzinfo=UTC)
INBOX = "help@x.example"


def a_message(message_id: str = "<m1@y.example>") -> Message:
    """A mail at T0."""
    return Message(
        inbox_id=INBOX,
        thread_id="thd_1",
        message_id=message_id,
        labels=("received",),
        timestamp=T0,
        sender="ann@y.example",
        to=(INBOX,),
        size=0,
        updated_at=T0,
        created_at=T0,
    )


def an_accepted() -> MailAccepted:
    """A reply that was accepted under the key `k`."""
    mail = AcceptedMail(
        sequence=1,
        operation="reply",
        message=a_message("<r1@x.example>"),
        accepted_at=T0,
        answered="<m1@y.example>",
        idempotency_key="k",
        fingerprint="print",
    )
    return MailAccepted(mail)


def a_state(*, inboxes: tuple[str, ...] = ()) -> State:
    """The state of a provider whose clock stands at T0."""
    return State(Setup(inboxes=inboxes), clock=Clock(read=lambda: T0), journal=NoJournal())


async def no_post(url: str, **_request: Any) -> int:
    """There is no endpoint."""
    raise ConnectionError(url)


def a_standin() -> Standin:
    """A provider that delivers nowhere."""
    state = a_state()
    deliverer = Deliverer(clock=state.clock, signals=state.signals, post=no_post)
    return Standin(state=state, deliverer=deliverer)


def test_entries_are_read_back_as_they_were(tmp_path: Path) -> None:
    """A restart sees what the process before it has said."""
    entries: list[Entry] = [
        InboxOpened(INBOX),
        MailReceived(a_message()),
        an_accepted(),
        ClockAdvanced(5.0),
    ]
    journal = FileJournal(tmp_path / "state")
    for entry in entries:
        journal.append(entry)
    journal.close()

    again = FileJournal(tmp_path / "state")

    assert list(again.entries()) == entries
    again.close()


def test_reset_empties_the_state_file(tmp_path: Path) -> None:
    """A provider that is reset before each test must not fill the disk."""
    path = tmp_path / "state"
    journal = FileJournal(path)
    for entry in (InboxOpened("a"), Reset(), InboxOpened("b")):
        journal.append(entry)

    assert list(journal.entries()) == [InboxOpened("b")]
    journal.close()


def test_line_without_an_end_is_cut_off(tmp_path: Path) -> None:
    """A kill inside a write leaves half a line, of which nobody was told."""
    path = tmp_path / "state"
    path.write_bytes(b'{"kind":"inbox_opened","inbox_id":"a"}\n{"kind":"inbox_op')
    journal = FileJournal(path)

    before = list(journal.entries())
    journal.append(InboxOpened("b"))
    after = list(journal.entries())

    assert (before, after) == ([InboxOpened("a")], [InboxOpened("a"), InboxOpened("b")])
    journal.close()


def test_line_that_is_no_entry_stops_the_start(tmp_path: Path) -> None:
    """A damaged file is named with its line, never skipped."""
    path = tmp_path / "state"
    path.write_bytes(b'{"kind":"inbox_opened","inbox_id":"a"}\nnonsense\n')
    journal = FileJournal(path)

    with pytest.raises(StateFileError, match="line 2"):
        list(journal.entries())
    journal.close()


def test_state_file_has_one_owner(tmp_path: Path) -> None:
    """Two providers on one file would each forget the other's mail."""
    first = FileJournal(tmp_path / "state")

    with pytest.raises(StateFileError, match="in use"):
        FileJournal(tmp_path / "state")
    first.close()


def test_restored_mail_keeps_its_key() -> None:
    """A key that is forgotten by a restart is a second mail."""
    state = a_state()

    state.restore([MailReceived(a_message()), an_accepted()])

    answer = Answer(message_id="<r1@x.example>", thread_id="thd_1")
    assert state.keys.claim("k", "print", now=T0) == Repeated(answer)
    assert (state.counts()["accepted"], state.counts()["received"]) == (1, 1)


def test_reset_leaves_only_the_inboxes_of_the_start() -> None:
    """Each test begins with the same provider."""
    state = a_state(inboxes=(INBOX,))
    state.restore([InboxOpened("other@x.example"), an_accepted(), ClockAdvanced(60.0), Reset()])

    inboxes = [state.mailbox.has_inbox(each) for each in (INBOX, "other@x.example")]

    assert (inboxes, state.counts()["accepted"], state.clock.now()) == ([True, False], 0, T0)


def test_webhook_payload_can_be_put_into_the_inbox() -> None:
    """A scenario is written once: for the door, and for the mailbox that is replied from."""
    standin = a_standin()
    payload = message_received(event_id="evt_7", inbox_id=INBOX)
    mail = InboundMail(
        message=payload["message"], event_type=payload["event_type"], event_id=payload["event_id"]
    )

    arrived = receive(standin, InboundBody(mails=(mail,)))

    assert [each.event_id for each in arrived] == ["evt_7"]
    stored = standin.state.mailbox.message(INBOX, payload["message"]["message_id"])
    assert stored is not None
    assert stored.subject == payload["message"]["subject"]


def test_same_mail_is_stored_once_and_another_is_refused() -> None:
    """One id names one message in an inbox."""
    standin = a_standin()
    same = InboundMail(message={"inbox_id": INBOX, "message_id": "<m>", "text": "Hi"})
    other = InboundMail(message={"inbox_id": INBOX, "message_id": "<m>", "text": "No"})

    receive(standin, InboundBody(mails=(same, same)))
    with pytest.raises(ApiError, match="another message"):
        receive(standin, InboundBody(mails=(other,)))

    assert standin.counts()["received"] == 1


@pytest.mark.parametrize(
    "message",
    [
        {},
        {"inbox_id": 7},
        {"inbox_id": INBOX, "timestamp": "yesterday"},
        {"inbox_id": INBOX, "to": 7},
    ],
    ids=["empty", "inbox-number", "no-time", "to-number"],
)
def test_mail_that_is_none_is_refused(message: dict[str, Any]) -> None:
    """A mistake in a scenario is named, not stored."""
    with pytest.raises(ApiError) as refused:
        receive(a_standin(), InboundBody(mails=(InboundMail(message=message),)))

    assert refused.value.status == 400


def test_wait_ends_when_the_clock_is_moved_past_the_instant() -> None:
    """A day passes in one call."""

    async def waited() -> datetime:
        """The instant at which the wait for tomorrow ended."""
        clock = Clock(read=lambda: T0)
        waiting = asyncio.create_task(clock.until(T0 + timedelta(days=1)))
        await asyncio.wait({waiting}, timeout=0)
        clock.advance(timedelta(days=1))
        await asyncio.wait_for(waiting, timeout=5)
        return clock.now()

    assert asyncio.run(waited()) == T0 + timedelta(days=1)
