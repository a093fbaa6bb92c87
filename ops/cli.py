"""The `onereply` command: a table of commands, each loaded when it is asked for.

Owns: the list of commands and the exit codes they share.
May not: import a command's module before that command runs; start-up stays fast.
"""

from importlib import import_module
from typing import Final

import click

from schemas.logs import setup_plain_logging

# Command name -> where it lives. The one-line help of each stands in its own module.
COMMANDS: Final = {
    "blobs": "ops.blobs:blobs",
    "demo": "ops.demo.command:demo",
    "kafka": "ops.kafka.command:kafka",
    "run": "ops.run.command:run",
    "send-test": "ops.send_test:send_test",
    "sources": "ops.sources:sources",
    "topics": "ops.topics:topics",
}


class LazyGroup(click.Group):
    """A group that imports a command's module only when that command is run or its help shown."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every command by name, in alphabetical order."""
        return sorted({*super().list_commands(ctx), *COMMANDS})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, or None, which click reports with near matches."""
        if cmd_name not in COMMANDS:
            return super().get_command(ctx, cmd_name)
        module, attribute = COMMANDS[cmd_name].split(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="onereply")
def main() -> None:
    """Inbound-email webhooks in, exactly one reply each out.

    Settings come from the environment (ONEREPLY_*, see .env.example) and from onereply.toml.
    Exit codes: 0 done, 1 failed or found a difference, 2 wrong usage or settings, 3 a dependency is
    away.
    """
    setup_plain_logging()
