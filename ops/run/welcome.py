"""What a run says when it is up: where each part listens, where data lies, what to try.

Owns: the words, for a terminal of 80 columns.
May not: print a secret.
"""

import os
import shlex
from pathlib import Path

from ops.run.folder import Folder
from ops.run.pipeline import Pipeline
from ops.run.plan import KAFKA, PROVIDER


def welcome(pipeline: Pipeline, *, seconds: float) -> str:
    """The lines that a run prints once."""
    return "\n".join(
        [
            f"\nOneReply is up ({seconds:.1f} s).\n",
            *_places(pipeline),
            "",
            *_to_try(pipeline),
            "Ctrl-C stops everything.",
        ]
    )


def _places(pipeline: Pipeline) -> list[str]:
    folder, settings = pipeline.plan.folder, pipeline.settings
    doors = [f"{pipeline.door}/webhooks/{name}" for name in pipeline.directory.sources]
    places = [("door", door) for door in doors]
    if pipeline.served.sources:
        stands = f"{pipeline.plan.provider}/_standin/mailbox (a stand-in)"
        places.append((PROVIDER, stands))
    else:
        accounts = sorted({each.base_url for each in pipeline.directory.accounts.values()})
        places.append((PROVIDER, ", ".join(accounts) or "none: nobody is answered"))
    places.append((KAFKA, settings.bootstrap_servers))
    if settings.durability == "single-node":
        places.append(("", "one copy only: if its disk is lost, the data is lost"))
    places += [
        ("settings", shown(pipeline.plan.config)),
        ("logs", shown(folder.logs)),
        ("data", f"{shown(folder.data_dir)}{_removal(folder.data_dir)}"),
    ]
    return [f"  {name:<9} {where}" for name, where in places]


def _removal(data_dir: Path) -> str:
    return " (`make clean` removes it)" if data_dir == Path(".onereply").absolute() else ""


def _to_try(pipeline: Pipeline) -> list[str]:
    if not pipeline.served.sources:
        return [
            "Replies leave through your own accounts. The stand-in provider is not started,",
            "because no account of your onereply.toml is at its address",
            f"({pipeline.plan.provider}), and send-test needs it.",
            "",
        ]
    return ["Try, in another terminal:", f"  {send_test_command(pipeline.plan.folder)}", ""]


def send_test_command(folder: Folder) -> str:
    """What to type in another terminal, which does not have this one's variables."""
    local = Path(".venv/bin/onereply")
    command = f"{local if local.exists() else 'onereply'} send-test"
    if folder.data_dir == Path(".onereply").absolute():
        return command
    return f"{command} --data-dir {shlex.quote(shown(folder.data_dir))}"


def shown(path: Path) -> str:
    """The path as one would type it here."""
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative
