"""A part for tests of the supervisor: `python -m tests.parts BEHAVIOUR`."""

import json
import signal
import sys
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any, Final


def say(**fields: Any) -> None:
    """One JSON line, as a stage logs it."""
    sys.stderr.write(json.dumps(fields) + "\n")
    sys.stderr.flush()


def works() -> None:
    """Say that it works, and stop when told to."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        say(level="info", event="stage stopped", reason="told to")
        sys.exit(0)

    signal.signal(signal.SIGTERM, stop)
    say(level="info", event="stage live")
    signal.pause()


def ends() -> None:
    """Say that it works, and end with a reason."""
    say(level="info", event="stage live")
    say(level="error", event="stage stopped", reason="broker does not answer")
    sys.exit(3)


def fails() -> None:
    """End with a reason, before it works."""
    say(level="error", event="stage stopped", reason="no answer")
    sys.exit(3)


def has_wrong_settings() -> None:
    """End at once, with a code that no new start can mend."""
    sys.stderr.write("ONEREPLY_GRACE_MS: not a number\n")
    sys.exit(2)


def is_stubborn() -> None:
    """Say that it works, and do not stop when told to."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    say(level="info", event="door open", url="http://127.0.0.1:1")
    while True:
        signal.pause()


BEHAVIOURS: Final[Mapping[str, Callable[[], None]]] = {
    "works": works,
    "ends": ends,
    "fails": fails,
    "wrong-settings": has_wrong_settings,
    "stubborn": is_stubborn,
}


if __name__ == "__main__":
    BEHAVIOURS[sys.argv[1]]()
