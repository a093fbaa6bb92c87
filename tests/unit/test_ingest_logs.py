import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from schemas.logs import PlainLines, setup_logging
from tests.doors import LocalDoor
from tests.payloads import a_message, an_event


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    """Where this process's log goes for the length of a test."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    stream = io.StringIO()
    setup_logging("door", stream)
    yield stream
    logging.captureWarnings(capture=False)
    root.handlers[:] = handlers
    root.setLevel(level)


def read(stream: io.StringIO) -> list[dict[str, Any]]:
    """The lines so far."""
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_line_is_a_sentence_with_fields(lines: io.StringIO) -> None:
    """Whoever searches logs searches fields."""
    logging.getLogger("ingest.x").info("door open", extra={"url": "http://x", "count": 2})

    (line,) = read(lines)
    assert line.pop("time").endswith("Z")
    assert line == {
        "level": "info",
        "process": "door",
        "event": "door open",
        "url": "http://x",
        "count": 2,
    }


def test_exception_is_its_class_and_place_never_its_words(lines: io.StringIO) -> None:
    """Libraries repeat the value they failed on, and that is somebody's mail."""
    try:
        int("jane@customer.example")
    except ValueError:
        logging.getLogger("processors.x").exception("record failed")

    (line,) = read(lines)
    assert line["exception"] == "ValueError"
    assert line["at"][0].endswith("test_exception_is_its_class_and_place_never_its_words")
    assert "jane" not in lines.getvalue()


def test_others_are_heard_from_warnings_up(lines: io.StringIO) -> None:
    """An HTTP client prints every URL it calls, and ours hold addresses."""
    logging.getLogger("httpx").info("GET https://x/inboxes/jane@customer.example")
    logging.getLogger("uvicorn.error").warning("odd")

    assert [line["event"] for line in read(lines)] == ["odd"]


def test_value_that_json_does_not_know_is_still_one_line(lines: io.StringIO) -> None:
    """A log call must not fail, and never breaks into two lines."""
    odd = {"thing": {1}, "raw": b"\xff", "half": "\ud800"}
    logging.getLogger("ops.x").warning("a\nb", extra=odd)

    (line,) = read(lines)
    assert (line["thing"], line["raw"]) == ("{1}", "b'\\xff'")


def test_person_at_a_terminal_reads_the_event_and_its_fields() -> None:
    """A command that waits for a broker says for which, and not in JSON."""
    record = logging.makeLogRecord({"msg": "broker away", "broker": "x:9092", "tries": 1})

    assert PlainLines().format(record) == "broker away: broker=x:9092 tries=1"


def test_door_logs_no_content_whatever_comes(lines: io.StringIO) -> None:
    """Bodies, subjects, addresses and secrets stay out of logs, for refused deliveries too."""
    door = LocalDoor()
    secretive = an_event(message=a_message(subject="Swordfish"))

    door.deliver(secretive)
    door.deliver(secretive, at_s=1)
    door.deliver(b"Swordfish")
    door.deliver(an_event(message=a_message(inbox_id="swordfish@inbox.example")))

    assert [line["reason"] for line in read(lines)] == [
        "signature-too-old",
        "not-json",
        "wrong-workspace",
    ]
    found = lines.getvalue().lower()
    assert [word for word in ("swordfish", "jane", "whsec", "inbox.example") if word in found] == []
