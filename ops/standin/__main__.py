"""`python -m ops.standin`: the stand-in provider as a process.

Owns: its options and exit codes.
May not: listen anywhere but on loopback.
"""

import sys
from pathlib import Path

import click

from ops.standin.journal import FileJournal, StateFileError
from ops.standin.mailbox import Limits
from ops.standin.server import bind, serve
from ops.standin.state import Setup


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--port", default=0, type=click.IntRange(0, 65535), help="0 takes a free one.")
@click.option(
    "--state",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Keep everything in this file, and read it at the start.",
)
@click.option("--inbox", "inboxes", multiple=True, help="An inbox that exists from the start.")
@click.option(
    "--max-messages",
    default=Limits().messages,
    show_default=True,
    type=click.IntRange(1),
    help="Mail past this number is refused with 507.",
)
def main(*, port: int, state: Path | None, inboxes: tuple[str, ...], max_messages: int) -> None:
    """Run a mail provider that keeps AgentMail's contract and whose mailbox can be counted.

    Prints {"listening": URL} when it is ready. Everything under /_standin/ controls it. Stops on
    SIGTERM or Ctrl-C.
    """
    setup = Setup(inboxes=inboxes, limits=Limits(messages=max_messages))
    try:
        journal = None if state is None else FileJournal(state)
        listener = bind(port)
        serve(listener, setup=setup, journal=journal)
    except StateFileError as error:
        sys.exit(f"stand-in provider: {error}")
    except OSError as error:
        sys.exit(f"stand-in provider: {error.filename or f'port {port}'}: {error.strerror}")


main()
