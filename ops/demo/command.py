"""`onereply demo`: the promise, shown in under two minutes.

Owns: options, words and exit codes.
May not: play.
"""

import json
import shutil
import tempfile
from pathlib import Path
from typing import Final

import click
from rich.console import Console

from ops.demo.decisions import notes
from ops.demo.installation import Ground
from ops.demo.play import Played, play
from ops.demo.table import summary, table_of
from ops.run.ending import FAILED, one_sentence
from ops.run.interrupts import Interrupted, interruptible
from ops.run.screen import Screen
from schemas.settings import load_settings

DEFAULT_SEED: Final = 1


@click.command()
@click.option("--seed", default=DEFAULT_SEED, show_default=True, help="Of repeats and their order.")
@click.option("--json", "is_json", is_flag=True, help="For scripts.")
def demo(*, seed: int, is_json: bool) -> None:
    """Play recorded webhooks into a OneReply of its own, and count the provider's mailbox.

    Every event type and trap of the provider's contract, each delivered one to four times, pairs
    reversed; the sender is killed between its post and its receipt. Runs beside `onereply run`.

    Exit code 0: each message that is owed a reply has exactly one mail, and there is no other mail.
    1: not so; what differs is told. 3: a dependency is away.
    """
    folder = Path(tempfile.mkdtemp(prefix="onereply-demo-"))
    is_kept = False
    try:
        with Screen() as screen, interruptible(), one_sentence(folder):
            install_dir = Path(load_settings().data_dir)
            ground = Ground(folder=folder, install_dir=install_dir)
            played = play(ground, screen, seed=seed)
        is_kept = not played.differences
        _tell(played, is_json=is_json)
    except Interrupted as error:
        raise SystemExit(error.exit_code) from error
    finally:
        if is_kept:
            shutil.rmtree(folder, ignore_errors=True)
        else:
            click.echo(f"Logs of the parts: {folder / 'logs'}", err=True)
    if not is_kept:
        raise SystemExit(FAILED)


def _tell(played: Played, *, is_json: bool) -> None:
    if is_json:
        click.echo(json.dumps(summary(played)))
        return
    console = Console(highlight=False, markup=False)
    console.print()
    console.print(table_of(played))
    console.print()
    for note in notes(played.entries, played.decisions):
        console.print(f"NOTE     {note}", soft_wrap=True)
    for difference in played.differences:
        console.print(f"DIFFERS  {difference}", soft_wrap=True)
    verdict = "Kept" if not played.differences else "NOT kept"
    console.print(f"{verdict}: one mail for each message that is owed a reply, and no other mail.")
    console.print(f"Counted in the provider's mailbox. {played.seconds:.0f} s in all.")
