import pytest

from ops.run.words import ended_sentence, fields_of, ready_url, reason_of, up_line


@pytest.mark.parametrize(
    ("line", "url"),
    [
        (b'{"listening": "http://127.0.0.1:8090"}', "http://127.0.0.1:8090"),
        (b'{"event": "door open", "url": "http://127.0.0.1:8080"}', "http://127.0.0.1:8080"),
        (b'{"event": "stage live", "stage": "send"}', ""),
        (b'{"event": "batch rolled back"}', None),
        (b"Traceback (most recent call last):", None),
        (b"{broken", None),
        (b"[1]", None),
    ],
    ids=["provider", "door", "stage", "other event", "plain", "broken", "list"],
)
def test_readiness_is_read_from_the_lines_that_say_it(line: bytes, url: str | None) -> None:
    """Nobody waits a fixed time for a process."""
    assert ready_url(fields_of(line)) == url


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"level": "error", "event": "stage stopped", "reason": "broker away"}', "broker away"),
        (
            b'{"level": "error", "event": "effect failed", "exception": "KeyError"}',
            "effect failed: KeyError",
        ),
        (b'{"level": "error", "event": "crashed"}', "crashed"),
        (b'{"level": "warning", "event": "slow", "reason": "disk"}', None),
        (b"ValueError: nothing there\n", "ValueError: nothing there"),
        (b"  \n", None),
        (b"x" * 1000, "x" * 300),
    ],
    ids=["reason", "exception", "event alone", "warning", "plain", "blank", "long"],
)
def test_reason_is_what_was_said_last_at_level_error_or_in_plain_words(
    line: bytes, reason: str | None
) -> None:
    """That it ended helps nobody; why it ended does."""
    assert reason_of(line, fields_of(line)) == reason


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        (3, "send ended with code 3: broker away"),
        (-9, "send was ended by SIGKILL"),
        (-200, "send was ended by signal 200"),
    ],
)
def test_end_is_told_by_code_and_reason_or_by_signal(code: int, sentence: str) -> None:
    """A killed part has no last words."""
    assert ended_sentence("send", code, "broker away") == sentence


def test_status_line_fits_a_terminal() -> None:
    """Wrapped lines are not read."""
    assert len(up_line("provider", "http://127.0.0.1:65535/webhooks/agentmail", seconds=99.9)) <= 80
