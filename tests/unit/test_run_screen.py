import io

from ops.run.screen import Screen


class Terminal(io.StringIO):
    """A stream that takes the moves of a terminal."""

    def isatty(self) -> bool:
        """It is one."""
        return True


def test_step_that_is_told_for_good_ends_the_line_that_moves() -> None:
    """The count of one step must not stand below the next one, as if it were its own."""
    terminal = Terminal()
    with Screen(terminal) as screen:
        screen.show("35 of 36 jars")
        screen.say("Preparing a quicker start")
        told = terminal.getvalue()

    assert "35 of 36 jars" in told.partition("Preparing a quicker start")[0]
    assert told.rstrip().endswith("Preparing a quicker start")
