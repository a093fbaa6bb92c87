"""`.env.example` from the settings: each with its sentence, its bounds and its default.

Owns: the file's layout. Groups and their order are those of schemas/settings.py; what only
`onereply run` takes comes after them, from its options.
May not: state a default or a bound of its own.
"""

import json
import re
import sys
import textwrap
from collections.abc import Iterator
from inspect import getsource
from typing import Any, Final, Literal, get_args, get_origin

import click
from pydantic.fields import FieldInfo

from ops.generated import ROOT, Files, write_or_check
from ops.run.command import run
from schemas.settings import PREFIX, Settings

PATH: Final = ROOT / ".env.example"

HEAD: Final = """\
# Every setting of OneReply with its default, made from schemas/settings.py and ops/run by
# `python -m ops.env_example`. Copy this file to .env, take the mark off what you change, and load
# it into the environment of each process: `set -a; . ./.env; set +a`. Compose reads .env itself.
# Wrong values are reported all together when a process starts.
"""

# Secrets have no ONEREPLY_ name: onereply.toml says which variables hold them.
SECRETS: Final = """
# -- secrets, by the names that examples/onereply.toml gives them

# Signing secret of the webhook, from the provider's page; whsec_ and base64.
# AGENTMAIL_WEBHOOK_SECRET=
# Or a file that holds it, read again when it changes.
# AGENTMAIL_WEBHOOK_SECRET_FILE=

# Key for the provider's API, through which replies leave.
# AGENTMAIL_API_KEY=
# Or a file that holds it.
# AGENTMAIL_API_KEY_FILE=
"""

_GROUP: Final = re.compile(r"^    # -- (.+)$")
_FIELD: Final = re.compile(r"^    ([a-z_]+): ")


def files() -> Files:
    """The one file, as it should be."""
    return {PATH: HEAD + "".join(_groups()) + "".join(_run_options()) + SECRETS}


def _groups() -> Iterator[str]:
    for line in getsource(Settings).splitlines():
        if group := _GROUP.match(line):
            yield f"\n# -- {group[1]}\n"
        elif (field := _FIELD.match(line)) and field[1] in Settings.model_fields:
            yield _entry(field[1], Settings.model_fields[field[1]])


def _run_options() -> Iterator[str]:
    """Variables that only the one command on one machine reads."""
    yield "\n# -- onereply run\n"
    for option in run.params:
        if isinstance(option, click.Option) and isinstance(option.envvar, str):
            kind = option.type
            bounds = f"[{kind.min} to {kind.max}]" if isinstance(kind, click.IntRange) else ""
            sentence = f"{option.help} {bounds}".strip()
            yield _commented(sentence, f"{option.envvar}={option.default}")


def _entry(name: str, field: FieldInfo) -> str:
    sentence = f"{field.description} {_allowed(field)}".strip()
    return _commented(sentence, f"{PREFIX}{name.upper()}={default_text(field)}")


def _commented(sentence: str, assignment: str) -> str:
    lines = textwrap.wrap(sentence, 98, initial_indent="# ", subsequent_indent="# ")
    return "\n" + "\n".join([*lines, f"# {assignment}"]) + "\n"


def default_text(field: FieldInfo) -> str:
    """The default as a shell and Compose read it."""
    default = field.get_default(call_default_factory=True)
    return default if isinstance(default, str) else json.dumps(default)


def _allowed(field: FieldInfo) -> str:
    if get_origin(field.annotation) is Literal:
        return f"[{' | '.join(map(str, get_args(field.annotation)))}]"
    bounds: dict[str, Any] = {}
    for rule in field.metadata:
        bounds |= {
            key: value for key in ("ge", "le") if (value := getattr(rule, key, None)) is not None
        }
    if not bounds:
        return ""
    if "le" not in bounds:
        return f"[{bounds['ge']} or more]"
    return f"[{bounds['ge']} to {bounds['le']}]"


if __name__ == "__main__":
    sys.exit(write_or_check(files(), sys.argv[1:], command="python -m ops.env_example"))
