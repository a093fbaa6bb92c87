import asyncio
import os
from pathlib import Path

import pytest

from ingest.sources import open_sources, secret_problems
from schemas.directory import parse_directory
from schemas.errors import SettingsError
from tests.doors import DIRECTORY, SECRET_A, SECRET_B, LocalDoor, signed
from tests.payloads import an_event

TWO = DIRECTORY.replace('["SECRET"]', '["SECRET", "NEXT"]')


def problems(directory: str, **environ: str) -> list[str]:
    """What keeps the sources shut."""
    return secret_problems(parse_directory(directory), environ)


def test_missing_secret_is_named_with_what_to_do() -> None:
    """Whoever starts the door for the first time reads this line."""
    assert problems(DIRECTORY) == [
        (
            "sources.agentmail: SECRET is not set: copy the secret from the webhook's page into "
            "it, or set SECRET_FILE to a file that holds it"
        )
    ]


def test_every_bad_secret_is_reported_not_the_first() -> None:
    """Mending one at a time costs a restart each."""
    found = problems(TWO, SECRET="v1," + SECRET_A, NEXT="whsec_YQ==")

    assert [line.split(" ")[1] for line in found] == ["SECRET", "NEXT"]
    assert not any("whsec_c3" in line for line in found)


def test_variable_and_file_at_once_are_refused() -> None:
    """Nobody could say which of the two counts."""
    assert problems(DIRECTORY, SECRET=SECRET_A, SECRET_FILE="/x") == [
        "sources.agentmail: SECRET and SECRET_FILE are both set: set one of them"
    ]


def test_unreadable_files_keep_the_source_shut(tmp_path: Path) -> None:
    """A door that would refuse everybody had better not open."""
    binary, huge = tmp_path / "binary", tmp_path / "huge"
    binary.write_bytes(b"\xff\xfe")
    huge.write_text("A" * 5000)

    for file in (tmp_path / "none", binary, huge, tmp_path):
        assert problems(DIRECTORY, SECRET_FILE=str(file))


def test_door_without_a_source_does_not_open() -> None:
    """It would answer 404 to everybody, and look alive."""
    with pytest.raises(SettingsError):
        open_sources(parse_directory(""), {})


def test_replaced_file_counts_within_a_second_without_a_restart(tmp_path: Path) -> None:
    """Secrets are rotated by replacing the file while deliveries flow."""
    file = tmp_path / "secret"
    file.write_text(SECRET_A + "\n")
    door = LocalDoor(environ={"SECRET_FILE": str(file)})
    before = door.deliver(an_event(), secret=SECRET_B).status

    (tmp_path / "new").write_text(SECRET_B)
    (tmp_path / "new").rename(file)
    soon = door.deliver(an_event(), secret=SECRET_B).status
    door.clock.at_s += 1
    later = [door.deliver(an_event(), secret=each).status for each in (SECRET_B, SECRET_A)]

    assert (before, soon, later) == (400, 400, [204, 400])


def test_unreadable_secret_is_503_until_it_is_back(tmp_path: Path) -> None:
    """400 would tell the sender that its delivery is at fault, and some give up then."""
    file = tmp_path / "secret"
    file.write_text(SECRET_A)
    door = LocalDoor(environ={"SECRET_FILE": str(file)})

    file.rename(tmp_path / "away")
    away = door.deliver(an_event()).status
    (tmp_path / "away").rename(file)
    door.clock.at_s += 1
    back = door.deliver(an_event()).status

    assert (away, back) == (503, 204)


def test_half_written_secret_is_503_not_a_shorter_key(tmp_path: Path) -> None:
    """The file may be read in the middle of being written."""
    file = tmp_path / "secret"
    file.write_text(SECRET_A)
    door = LocalDoor(environ={"SECRET_FILE": str(file)})

    file.write_text(SECRET_A[:20])
    os.utime(file, ns=(1, 1))

    assert door.deliver(an_event()).reason == "secret-unreadable"


def test_source_that_lists_inboxes_speaks_for_no_other() -> None:
    """A second webhook of one workspace may be meant for one inbox only."""
    door = LocalDoor(DIRECTORY + 'inboxes = ["billing@inbox.example"]\n')

    assert door.deliver(an_event()).reason == "wrong-workspace"


def test_same_delivery_at_two_sources_is_two_events() -> None:
    """A source's ids are its own: nobody promised that two senders never use the same one."""
    second = DIRECTORY.partition("[sources.agentmail]")[2]
    door = LocalDoor(DIRECTORY + "[sources.second]" + second)

    for path in ("/webhooks/agentmail", "/webhooks/second"):
        door.ask(an_event(), path=path, headers=signed(an_event()))

    assert [record.key for record in door.log.records] == [b"agentmail/evt_1", b"second/evt_1"]


def test_repeat_gets_the_same_answer_and_the_same_key() -> None:
    """The door cannot know that it is one; who compares keys later can."""
    door = LocalDoor()

    first, again = door.deliver(an_event()), door.deliver(an_event(), delivery_id="msg_2")

    assert first == again
    assert len({record.key for record in door.log.records}) == 1


def test_verifier_is_the_same_while_nothing_changes(tmp_path: Path) -> None:
    """Decoding the secret anew for each delivery would cost more than verifying it."""
    file = tmp_path / "secret"
    file.write_text(SECRET_A)
    source = open_sources(parse_directory(DIRECTORY), {"SECRET_FILE": str(file)})["agentmail"]

    async def both() -> bool:
        return await source.verifier(0.0) is await source.verifier(10.0)

    assert asyncio.run(both())
