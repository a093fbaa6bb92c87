"""`onereply send-test`: a customer writes, the reply is seen, and what each hop took.

Owns: the mail that is put into the stand-in provider, and the words about what came of it.
May not: sign or post a webhook by itself; the provider does, as a real one would.
"""

import json
import secrets
import time
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple

import click

from ops.run.ending import FAILED, Ended, one_sentence
from ops.run.folder import Folder, Running
from ops.run.provider import Mail, Provider
from ops.run.screen import Screen
from ops.run.tail import Tail
from schemas.commands import DECISION, Decision
from schemas.events import DUPLICATE
from schemas.keys import InboxId, MessageId, canonical_id, reply_key
from schemas.settings import load_settings
from schemas.topics import Topic

# A reply takes 0.1 s; a machine that is busy starting everything may take a hundred times as long.
REPLY_DEADLINE_S: Final = 30.0
# A second delivery is known as a duplicate as fast as a first one is passed on.
DUPLICATE_DEADLINE_S: Final = 10.0
# While the reply is awaited, what was decided is looked at this often.
LOOK_S: Final = 0.5
SEND: Final = "send"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of one mail. Times are milliseconds since it was put into the provider."""

    inbox: str
    sender: str
    event_id: str
    message_id: str
    deliveries: tuple[int | str, ...]
    answered_ms: int
    called_ms: int | None
    reply: str | None
    replies: int
    duplicate: str | None = None
    hint: str | None = None


class _Hopes(NamedTuple):
    """Where a reply is seen, and where it is seen that there will be none."""

    provider: Provider
    tail: Tail


def _not_blank(_context: click.Context, _option: click.Parameter, given: str | None) -> str | None:
    if given is not None and not given.strip():
        raise click.BadParameter("must not be blank")
    return given


@click.command(name="send-test")
@click.option(
    "--inbox",
    callback=_not_blank,
    help="The inbox that the customer writes to [default: one that answers].",
)
@click.option("--text", default="Hello, where is my order?", show_default=True)
@click.option(
    "--from", "sender", callback=_not_blank, help="The customer [default: a new one each time]."
)
@click.option(
    "--event-id",
    callback=_not_blank,
    help="The event's id; give one twice and it is one event.",
)
@click.option("--twice", is_flag=True, help="Deliver the event a second time.")
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of the run. [env var: ONEREPLY_DATA_DIR; default: .onereply]",
)
@click.option("--json", "is_json", is_flag=True, help="For scripts.")
def send_test(*, data_dir: Path | None, is_json: bool, **options: Any) -> None:
    """Write as a customer to a running OneReply, and see the reply.

    The mail goes into the stand-in provider, which delivers the signed webhook to the door.

    Exit code 0: one reply. 1: none, or more than one. 3: nothing runs; start it with `make run`.
    """
    with one_sentence(Path()), Screen() as screen:
        given = {} if data_dir is None else {"data_dir": str(data_dir)}
        running = Folder(Path(load_settings(**given).data_dir)).running()
        mail = _mail(running, options)
        outcome = _outcome(running, mail, screen, is_twice=options["twice"])
    click.echo(json.dumps(asdict(outcome)) if is_json else "\n".join(_story(outcome)))
    if outcome.replies != 1:
        raise SystemExit(FAILED)


def _mail(running: Running, options: dict[str, Any]) -> Mail:
    if not running.provider:
        raise Ended("This run has no stand-in provider: write to an inbox of yours instead.", 3)
    inbox = options["inbox"] or _answering(running)
    if inbox not in running.inboxes:
        known = ", ".join(sorted(running.inboxes))
        raise Ended(f"No inbox {inbox} at the stand-in provider. There are: {known}", 2)
    event_id = options["event_id"] or f"evt_{secrets.token_hex(12)}"
    # The same event is about the same mail. A new event has a new customer, or the cap of replies
    # a correspondent and day is soon reached.
    named = sha256(event_id.encode()).hexdigest()
    customer = named[:8]
    message = {
        "inbox_id": inbox,
        "message_id": f"<{named[8:32]}@{customer}.example>",
        "from": options["sender"] or f"Ann <ann@{customer}.example>",
        "to": [inbox],
        "subject": "A test",
        "text": options["text"],
        "headers": {},
    }
    return {"message": message, "event_id": event_id}


def _answering(running: Running) -> str:
    return min(
        running.inboxes, key=lambda name: (running.inboxes[name] != "send", name), default=""
    )


def _outcome(running: Running, mail: Mail, screen: Screen, *, is_twice: bool) -> Outcome:
    settings = load_settings(
        bootstrap_servers=running.bootstrap_servers,
        topic_prefix=running.topic_prefix,
        partitions=running.partitions,
    )
    message, event_id = mail["message"], mail["event_id"]
    watched = (Topic.DECISIONS, Topic.DUPLICATE_EVENTS)
    with Provider(running.provider) as provider, Tail(settings, *watched) as tail:
        before = provider.mailbox()
        is_known = any(_is_to(each, message) for each in before)
        screen.show("waiting for the reply")
        began = time.monotonic()
        answered_ms = _delivered(provider, mail, since=began)
        called_ms = None
        if not is_known:
            hopes = _Hopes(provider, tail)
            called_ms = _called(hopes, message, after=len(before), since=began)
        if is_twice:
            _delivered(provider, mail, since=began)
        duplicate = _duplicate(tail, event_id) if is_twice or is_known else None
        replies = [each for each in provider.mailbox() if _is_to(each, message)]
        deliveries = provider.deliveries(event_id)
        return Outcome(
            inbox=message["inbox_id"],
            sender=message["from"],
            event_id=event_id,
            message_id=message["message_id"],
            deliveries=tuple(status for each in deliveries for status in each["statuses"]),
            answered_ms=answered_ms,
            called_ms=called_ms,
            reply=replies[0]["text"] if replies else None,
            replies=len(replies),
            duplicate=duplicate,
            hint=None if replies else _hint(_decision(tail, message)),
        )


def _delivered(provider: Provider, mail: Mail, *, since: float) -> int:
    """Deliver the mail's event, and say how long after `since` the door had answered."""
    settled = int(provider.counts()["delivered"])
    provider.put([mail], webhooks="once")
    provider.wait(delivered=settled + 1, timeout_s=REPLY_DEADLINE_S)
    return _ms_since(since)


def _called(hopes: _Hopes, message: Mail, *, after: int, since: float) -> int | None:
    """How long after `since` the provider had accepted our reply; None when there will be none."""
    seen, end = after, since + REPLY_DEADLINE_S
    while (left_s := end - time.monotonic()) > 0:
        if hopes.provider.wait(accepted=seen + 1, timeout_s=min(left_s, LOOK_S)):
            at_ms, mails = _ms_since(since), hopes.provider.mailbox(after=seen)
            if any(_is_to(mail, message) for mail in mails):
                return at_ms
            seen += len(mails)
        decision = _decision(hopes.tail, message)
        if decision is not None and decision.outcome != SEND:
            return None
    return None


def _is_to(mail: Mail, message: Mail) -> bool:
    return (mail["inbox_id"], mail.get("answered")) == (message["inbox_id"], message["message_id"])


def _duplicate(tail: Tail, event_id: str) -> str | None:
    """Why the second delivery was dropped, once that is known."""
    found = tail.find(
        lambda seen: seen.topic is Topic.DUPLICATE_EVENTS and seen.ce_id == event_id,
        deadline_s=DUPLICATE_DEADLINE_S,
    )
    return None if found is None else DUPLICATE.decode(found.value).reason


def _decision(tail: Tail, message: Mail) -> Decision | None:
    """What was decided about the mail, if that is known."""
    named = canonical_id(message["message_id"]) or ""
    key = reply_key(InboxId(message["inbox_id"]), MessageId(named))
    found = tail.find(
        lambda seen: seen.topic is Topic.DECISIONS and DECISION.decode(seen.value).reply_key == key,
        deadline_s=0.0,
    )
    return None if found is None else DECISION.decode(found.value)


def _hint(decision: Decision | None) -> str:
    if decision is None:
        return "It was not decided. Is a part being started again? See `onereply run`."
    said = f"It was decided: {decision.outcome}, by rule {decision.rule}."
    return f"{said} The logs of write and send say more." if decision.outcome == SEND else said


def _ms_since(began: float) -> int:
    return round((time.monotonic() - began) * 1000)


def _story(outcome: Outcome) -> list[str]:
    statuses = ", ".join(map(str, outcome.deliveries))
    lines = [
        f"{outcome.sender} wrote to {outcome.inbox}.",
        f"  {outcome.answered_ms:>6} ms  the door answered the signed webhook: {statuses}",
    ]
    if outcome.called_ms is not None:
        lines.append(f"  {outcome.called_ms:>6} ms  the provider accepted our reply")
    if outcome.duplicate is not None:
        lines.append(f"             a delivery was dropped as a duplicate: {outcome.duplicate}")
    if outcome.reply is None:
        return [*lines, f"No reply. {outcome.hint}"]
    quoted = [f"  | {line}" for line in outcome.reply.rstrip().splitlines()]
    number = "One reply" if outcome.replies == 1 else f"{outcome.replies} replies, one is owed"
    return [*lines, "", *quoted, "", f"{number}."]
