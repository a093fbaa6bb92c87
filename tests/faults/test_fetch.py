"""Mail above the payload cap: announced without content, read from the provider, answered once."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from processors.runtime.steps import Step
from tests.pipeline import Mail, Pipeline, conversation, pipeline

SIZE = 1_200_000


@pytest.fixture(scope="module")
def whole(broker: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipeline]:
    """One running set for all tests: each brings mails of its own."""
    folder: Path = tmp_path_factory.mktemp("fetch")
    with pipeline(broker, f"fetch-{folder.name.replace('_', '-')}-", folder) as running:
        yield running


def with_message(mail: Mail, *, event_id: str, message: dict[str, Any]) -> Mail:
    """The mail under this event, with this message in it."""
    whole = {**mail.whole, "event_id": event_id, "message": message}
    return replace(mail, event_id=event_id, whole=whole)


def large(name: str) -> list[Mail]:
    """A mail and its answer, too large for a payload."""
    return [
        with_message(mail, event_id=mail.event_id, message={**mail.message, "size": SIZE})
        for mail in conversation(name, threads=1, length=2)
    ]


def announced(mail: Mail, *, event_id: str) -> Mail:
    """What the webhook says of it: all but the content."""
    left_out = ("text", "html", "extracted_text", "extracted_html")
    message = {name: value for name, value in mail.message.items() if name not in left_out}
    return with_message(mail, event_id=event_id, message=message)


def announce(whole: Pipeline, mails: Sequence[Mail]) -> None:
    """Each mail is announced by two events, one of them twice."""
    for mail in mails:
        again = announced(mail, event_id=f"{mail.event_id}-again")
        for each in (announced(mail, event_id=mail.event_id), again, again):
            assert whole.deliver(each) == 204


def assert_answered_once(whole: Pipeline, mails: Sequence[Mail], *, before: Counter[Any]) -> None:
    """Every mail has one reply, and no other mail exists."""
    whole.await_mails(before.total() + len(mails))
    assert whole.replies() - before == Counter({mail.identity: 1 for mail in mails})


def test_a_provider_in_trouble_is_asked_until_it_answers(whole: Pipeline) -> None:
    """The content is there in the end, and the reply with it."""
    mails, before = large("trouble"), whole.replies()
    whole.know(mails)
    faults = [{"operation": "message", "kind": kind, "times": 1} for kind in ("status", "drop")]
    whole.ask("faults", {"faults": faults})

    announce(whole, mails)

    assert_answered_once(whole, mails, before=before)


@pytest.mark.parametrize("step", [Step.COMMITTED, Step.STARTED])
def test_a_kill_between_claim_and_answer_costs_time_only(whole: Pipeline, step: Step) -> None:
    """A claim that nobody carries out runs out, and the message is read again."""
    mails, before = large(f"kill-{step}"), whole.replies()
    whole.know(mails)
    process = whole.processes["fetch"]
    process.kill()
    whole.restart("fetch", ONEREPLY_HALT_AT=f"{step}:1")

    announce(whole, mails)
    process.wait_halted()
    process.kill()
    whole.restart("fetch")

    assert_answered_once(whole, mails, before=before)
