"""Which onereply.toml a run works with, and what the stand-in provider has to do in it.

Owns: the file for the stand-in, the secrets that a run fills in, and the webhooks that it needs.
May not: change a file of the user's, or fill in a secret of a source that is not the stand-in's.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ingest.secrets import FILE_SUFFIX
from ingest.secrets import Secrets as SourceSecrets
from ops.run.folder import Secrets
from schemas.directory import Directory, parse_directory
from schemas.errors import SettingsError

SOURCE: Final = "agentmail"
WITH_REPLY: Final = frozenset({"send", "draft", "hold"})

STANDIN_TOML: Final = """\
# Written by `onereply run` at each start, for the stand-in provider. To change it, copy it to
# onereply.toml in the folder that you start from, or name your own with ONEREPLY_CONFIG_FILE.

[workspaces.example]

[sources.agentmail]
provider = "agentmail"
workspace = "example"
secrets = ["ONEREPLY_STANDIN_WEBHOOK_SECRET"]

[accounts.standin]
provider = "agentmail"
base_url = "{provider}"
api_key = "ONEREPLY_STANDIN_API_KEY"

# Answered at once.
[inboxes."support@example.com"]
workspace = "example"
account = "standin"
route = "send"

# A person approves each reply first.
[inboxes."billing@example.com"]
workspace = "example"
account = "standin"
route = "hold"

# Kept, and nobody is answered.
[inboxes."archive@example.com"]
workspace = "example"
account = "standin"
route = "store"
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """A webhook that the stand-in needs: the source it speaks to, its secret, its inboxes."""

    source: str
    secret: str
    inboxes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """What of a directory the stand-in serves: sources by name, and inboxes with their routes."""

    sources: tuple[str, ...]
    inboxes: Mapping[str, str]
    variables: tuple[str, ...]


def standin_directory(provider: str) -> str:
    """The file for a stand-in that listens there."""
    return STANDIN_TOML.format(provider=provider)


def read_directory(path: Path) -> Directory:
    """The directory in this file. Raises SettingsError."""
    try:
        return parse_directory(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise SettingsError([f"{path} cannot be read: {why}"]) from error


def served_by(directory: Directory, provider: str) -> Served:
    """What the stand-in at this address serves: the inboxes whose account is there."""
    accounts = {
        name: account
        for name, account in directory.accounts.items()
        if account.base_url.rstrip("/") == provider
    }
    inboxes = {
        name: inbox.route
        for name, inbox in directory.inboxes.items()
        if inbox.account is not None and inbox.account in accounts
    }
    sources = tuple(
        name
        for name, source in directory.sources.items()
        if not directory.inboxes_of(source).isdisjoint(inboxes)
    )
    return Served(
        sources=sources,
        inboxes=inboxes,
        variables=tuple(account.api_key for account in accounts.values()),
    )


def filled_in(
    directory: Directory, served: Served, made: Secrets, *, environ: Mapping[str, str]
) -> dict[str, str]:
    """The variables that the stand-in's sources and accounts name and nobody has set."""
    wanted = {
        **dict.fromkeys(served.variables, made.api_key),
        **{
            variable: made.webhook_secret
            for name in served.sources
            for variable in directory.sources[name].secrets
        },
    }
    return {
        name: value
        for name, value in wanted.items()
        if name not in environ and name + FILE_SUFFIX not in environ
    }


def hooks_of(
    directory: Directory, served: Served, *, environ: Mapping[str, str]
) -> tuple[Hook, ...]:
    """The webhooks that tell the stand-in's sources of its mail. Raises SecretProblem."""
    return tuple(
        Hook(
            source=name,
            secret=SourceSecrets(directory.sources[name].secrets, environ).read()[0][1],
            inboxes=tuple(
                sorted(directory.inboxes_of(directory.sources[name]).intersection(served.inboxes))
            ),
        )
        for name in served.sources
    )
