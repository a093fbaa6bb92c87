"""The whole demo: everything started, two acts played, the sender killed in between, the verdict.

Owns: the order of what happens, and every wait, each for a signal and with a deadline.
May not: count mails but in the provider's mailbox.
"""

import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from msgspec import Struct

from ops.demo.decisions import Decided, decided
from ops.demo.entries import ROUTES, Clock, Entry
from ops.demo.installation import Ground, Installation, installation
from ops.demo.player import Answers, Player
from ops.demo.scenario import FATAL, first_act
from ops.demo.second_act import USED, Reply, after_the_facts, facts
from ops.demo.verdict import Verdict, answered_by, judged, owed_by
from ops.kafka.telling import Teller
from ops.run.pipeline import Pipeline
from ops.run.provider import Provider
from ops.run.tail import Seen, Tail
from schemas.errors import Transient
from schemas.events import ORDERED_EVENT, Kind
from schemas.keys import InboxId, MessageId, canonical_id, reply_key
from schemas.topics import Topic

SENDER: Final = "send"
# An event passes a stage in milliseconds; a machine that is busy may take a hundred times as long.
PASS_DEADLINE_S: Final = 20.0
# The longest wait that the demo's settings allow for one mail (a lost parent, then a lease) takes
# 8 s: who has heard of no new mail for so long will hear of none.
SILENCE_S: Final = 15.0
# Longer than the predecessor wait: a wrong mail that is still to come comes within it.
QUIET_S: Final = 5.0


class Played(Struct, frozen=True, kw_only=True):
    """What a demo came to."""

    entries: tuple[Entry, ...]
    answers: Answers
    verdict: Verdict
    decisions: tuple[Decided, ...]
    killed_tries: int
    seconds: float

    @property
    def differences(self) -> tuple[str, ...]:
        """Every way in which it differs from what the scenario expects; none is what we promise."""
        return (*self.answers.differences, *self.verdict.differences)


def play(ground: Ground, teller: Teller, *, seed: int) -> Played:
    """Play the demo on this ground; everything that it started has ended when it returns.

    Raises OneReplyError when it could not be played to its end.
    """
    began = time.monotonic()
    installed = installation(ground, teller)
    pipeline = Pipeline(installed.plan, teller)
    try:
        pipeline.start()
        teller.say(f"Everything is up ({time.monotonic() - began:.1f} s), on ports of its own.")
        with (
            pipeline.provider() as provider,
            Tail(pipeline.settings, Topic.THREAD_EVENTS, Topic.ORDERED_EVENTS) as tail,
            Tail(pipeline.settings, Topic.DECISIONS) as told,
        ):
            theatre = _Theatre(pipeline, provider, tail=tail, teller=teller)
            return theatre.play(installed, told, seed=seed, began=began)
    finally:
        pipeline.stop()


class _Theatre:
    """One demo while it plays."""

    def __init__(
        self, pipeline: Pipeline, provider: Provider, *, tail: Tail, teller: Teller
    ) -> None:
        self._pipeline, self._provider = pipeline, provider
        self._tail, self._teller = tail, teller
        # Long ago enough for every minute of the scenario to have passed.
        self._clock = Clock(datetime.now(UTC) - timedelta(hours=1))

    def play(self, installed: Installation, told: Tail, *, seed: int, began: float) -> Played:
        """Both acts and the verdict."""
        player = Player(self._pipeline.door, installed.secrets, after_first=self._after_first)
        try:
            entries = first_act(self._clock)
            self._first_act(player, entries, seed=seed)
            if judged(entries, self._provider.mailbox()).is_kept:
                entries += self._second_act(player, entries, seed=seed)
                self._await_mails(entries)
            else:
                self._teller.say("Something differs already: the second act is not played.")
        finally:
            player.close()
        self._teller.show(f"waiting {QUIET_S:.0f} s for a mail too many")
        self._provider.wait(accepted=len(owed_by(entries)) + 1, timeout_s=QUIET_S)
        return Played(
            entries=entries,
            answers=player.answers,
            verdict=judged(entries, self._provider.mailbox()),
            decisions=decided(told),
            killed_tries=len(self._tries_of(FATAL, entries)),
            seconds=time.monotonic() - began,
        )

    def _first_act(self, player: Player, entries: Sequence[Entry], *, seed: int) -> None:
        fatal = _named(entries, FATAL)
        self._provider.open_inboxes(tuple(ROUTES))
        self._provider.put(_mails_of(entries))
        self._provider.add_faults(
            {"kind": "accept_then_hold", "message_id": fatal.identity[1], "seconds": 60}
        )
        self._teller.say(
            f"First act: {len(entries)} webhooks, each delivered one to four times (seed {seed})."
        )
        player.play(entries, seed=seed)
        self._pipeline.wait_ready(SENDER)
        self._teller.say("The sender is back.")
        self._await_mails(entries)
        self._await_second_try(entries)

    def _after_first(self, entry: Entry) -> None:
        if entry.name == FATAL:
            self._kill_sender()
        elif entry.comes_first:
            self._await(Topic.THREAD_EVENTS, entry)

    def _kill_sender(self) -> None:
        """SIGKILL between S2 and S3: the provider has the mail, and we have not heard of it.

        What comes meanwhile waits in the log until the sender is back.
        """
        self._teller.show("waiting until the provider has accepted a mail and not answered yet")
        if not self._provider.wait(held=1, timeout_s=PASS_DEADLINE_S):
            raise Transient("No reply was posted: the sender could not be killed in between.")
        self._pipeline.parts[SENDER].kill()
        self._pipeline.start_parts(SENDER)
        self._teller.say("The provider has a mail that we have not heard of: the sender is killed.")

    def _await_second_try(self, entries: Sequence[Entry]) -> None:
        """Return once the provider has answered the repeated post of the killed sender's mail."""
        end = time.monotonic() + SILENCE_S
        while not any(each["end"] == "answered" for each in self._tries_of(FATAL, entries)):
            answered, left_s = self._provider.counts()["answered"], end - time.monotonic()
            if left_s < 0:
                return
            self._provider.wait(answered=answered + 1, timeout_s=left_s)

    def _second_act(
        self, player: Player, first: Sequence[Entry], *, seed: int
    ) -> tuple[Entry, ...]:
        replies = self._replies(first)
        for name in USED:
            self._await_known(_named(first, name))
        told, after = facts(replies, self._clock), after_the_facts(replies, self._clock)
        self._teller.say(f"Second act: {len(told) + len(after)} webhooks about our replies.")
        self._provider.put(_mails_of(after))
        player.play(told, seed=seed)
        for entry in told:
            self._await(Topic.ORDERED_EVENTS, entry)
        player.play(after, seed=seed)
        return (*told, *after)

    def _replies(self, entries: Sequence[Entry]) -> dict[str, Reply]:
        names = {_named(entries, name).identity: name for name in USED}
        return {
            names[answered_by(mail)]: Reply(
                message_id=mail["message_id"],
                thread_id=mail["thread_id"],
                recipients=tuple(mail["to"]),
            )
            for mail in self._provider.mailbox()
            if answered_by(mail) in names
        }

    def _await_mails(self, entries: Sequence[Entry]) -> None:
        """Return once as many mails are there as are owed, or none has come for long."""
        owed = len(owed_by(entries))
        while (seen := int(self._provider.counts()["accepted"])) < owed:
            self._teller.show(f"{seen} of {owed} mails in the provider's mailbox")
            if not self._provider.wait(accepted=seen + 1, timeout_s=SILENCE_S):
                return

    def _await_known(self, entry: Entry) -> None:
        """Return once DECIDE's input holds the fact that this message's reply was sent."""
        inbox, message = entry.identity
        key = reply_key(InboxId(inbox), MessageId(canonical_id(message) or ""))

        def is_it(seen: Seen) -> bool:
            if seen.topic is not Topic.ORDERED_EVENTS or seen.ce_type != Kind.REPLY_SENT:
                return False
            return ORDERED_EVENT.decode(seen.value).event.reply_key == key

        if self._tail.find(is_it, deadline_s=PASS_DEADLINE_S) is None:
            raise Transient(f"That the reply to {entry.name} was sent is not known in time.")

    def _await(self, topic: Topic, entry: Entry) -> None:
        found = self._tail.find(
            lambda seen: seen.topic is topic and seen.ce_id == entry.event_id,
            deadline_s=PASS_DEADLINE_S,
        )
        if found is None:
            raise Transient(f"{entry.name} did not come to {topic} in {PASS_DEADLINE_S:.0f} s.")

    def _tries_of(self, name: str, entries: Sequence[Entry]) -> list[dict[str, Any]]:
        inbox, message = _named(entries, name).identity
        return [
            each
            for each in self._provider.requests()
            if (each["inbox_id"], each["message_id"]) == (inbox, message)
        ]


def _named(entries: Sequence[Entry], name: str) -> Entry:
    return next(entry for entry in entries if entry.name == name)


def _mails_of(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """The customers' mails as they lie at the provider, each once."""
    mails: dict[tuple[str, str], dict[str, Any]] = {}
    for entry in entries:
        if entry.is_message and entry.mail != {}:
            mails.setdefault(entry.identity, entry.message if entry.mail is None else entry.mail)
    return [{"message": mail} for mail in mails.values()]
