"""`onereply sources check`: whether the door would open with this file and these secrets.

Owns: what is printed and the exit code.
May not: have a rule of its own; the file's are in schemas.directory, the secrets' in ingest.
"""

import json
import os
from pathlib import Path

import click

from ingest.sources import NO_SOURCE, secret_problems
from ops.run.ending import SETTINGS
from schemas.directory import Directory, parse_directory
from schemas.errors import SettingsError
from schemas.settings import load_settings
from schemas.variables import unknown_variables


@click.group()
def sources() -> None:
    """Who may speak: the sources in onereply.toml."""


@sources.command()
@click.option("--file", "path", type=click.Path(path_type=Path), help="Not ONEREPLY_CONFIG_FILE.")
@click.option("--without-secrets", is_flag=True, help="The file alone, where secrets are not set.")
@click.option("--json", "is_json", is_flag=True, help="For scripts.")
@click.pass_context
def check(
    context: click.Context,
    *,
    path: Path | None,
    without_secrets: bool,
    is_json: bool,
) -> None:
    """Report every problem of the file and of the secrets it names.

    Exit code 0: the door would open. 2: it would not; settings to mend.
    """
    directory, problems = _read(path)
    if directory is not None and not directory.sources:
        problems.append(NO_SOURCE)
    if directory is not None and not without_secrets:
        problems += secret_problems(directory, os.environ)
    if directory is not None:
        for line in unknown_variables(os.environ, directory):
            click.echo(f"Warning: {line}", err=True)
    names = sorted(directory.sources) if directory is not None else []
    if is_json:
        click.echo(json.dumps({"sources": names, "problems": problems}))
    else:
        _tell(directory, problems)
    context.exit(SETTINGS if problems else 0)


def _read(path: Path | None) -> tuple[Directory | None, list[str]]:
    try:
        chosen = path or Path(load_settings().config_file)
        return parse_directory(chosen.read_text(encoding="utf-8")), []
    except SettingsError as error:
        return None, list(error.problems)
    except OSError as error:
        return None, [f"{chosen}: {error.strerror}"]
    except UnicodeDecodeError:
        return None, [f"{chosen}: is not UTF-8"]


def _tell(directory: Directory | None, problems: list[str]) -> None:
    for problem in problems:
        click.echo(problem, err=True)
    if directory is None or problems:
        return
    for name, source in sorted(directory.sources.items()):
        inboxes = len(directory.inboxes_of(source))
        click.echo(
            f"POST /webhooks/{name}  {source.provider}, {source.scheme}, workspace "
            f"{source.workspace}, {inboxes} {'inbox' if inboxes == 1 else 'inboxes'}"
        )
