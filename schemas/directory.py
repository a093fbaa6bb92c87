"""Who may speak and who is answered: workspaces, sources, accounts, inboxes, from one file.

Owns: the shape of onereply.toml and every rule about it.
May not: read a file, an environment variable or a secret. Secrets are named here, never held.
"""

import tomllib
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

import msgspec

from schemas.entries import Entry, entry_of, labels_of, unknown_keys
from schemas.errors import SettingsError
from schemas.keys import MAX_SOURCE_BYTES

PROVIDERS: Final = ("agentmail",)
SCHEMES: Final = ("svix",)
ROUTES: Final = ("store", "notify", "draft", "send", "hold", "quarantine", "refuse")


class Source(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A door: one webhook of one provider. `secrets` names the variables that hold secrets.

    A variable NAME has a twin NAME_FILE, a file that is read again when it changes.
    `inboxes`, when given, are the only inboxes that this source may speak for.
    """

    provider: str
    workspace: str
    secrets: tuple[str, ...]
    scheme: str = "svix"
    inboxes: tuple[str, ...] = ()
    rate_per_second: int = 0
    accepted_status: int = 204


class Account(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An account at a provider, through which replies leave. `api_key` names a variable."""

    provider: str
    base_url: str
    api_key: str


class Inbox(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An inbox of ours. `route` is what happens to its mail; a route that says nothing stores."""

    workspace: str
    account: str | None = None
    route: str = "store"


class Directory(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole file, checked."""

    workspaces: dict[str, dict[str, str]] = {}
    sources: dict[str, Source] = {}
    accounts: dict[str, Account] = {}
    inboxes: dict[str, Inbox] = {}

    def inboxes_of(self, source: Source) -> frozenset[str]:
        """The inboxes that a source may speak for: those it lists, else its workspace's."""
        if source.inboxes:
            return frozenset(source.inboxes)
        return frozenset(
            name for name, inbox in self.inboxes.items() if inbox.workspace == source.workspace
        )


TABLES: Final[Mapping[str, Callable[[Any], Entry]]] = {
    "workspaces": labels_of,
    "sources": partial(entry_of, kind=Source),
    "accounts": partial(entry_of, kind=Account),
    "inboxes": partial(entry_of, kind=Inbox),
}


def parse_directory(text: str) -> Directory:
    """The directory in this TOML. Raises SettingsError with every problem, not the first."""
    try:
        given = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError([f"onereply.toml: {error}"]) from error
    directory, names, problems = _read(given)
    if problems := problems + _problems(directory, names):
        raise SettingsError([f"onereply.toml: {problem}" for problem in problems])
    return directory


# Every name in the file, by its table: of entries that are wrong in themselves, too.
Names = Mapping[str, frozenset[str]]


def _read(given: dict[str, Any]) -> tuple[Directory, Names, list[str]]:
    """The entries that are whole, the names of all, and what is wrong with the others."""
    problems = unknown_keys(given, TABLES)
    found: dict[str, dict[str, Any]] = {}
    names: dict[str, frozenset[str]] = {}
    for table, entry in TABLES.items():
        entries = given.get(table, {})
        if not isinstance(entries, dict):
            problems.append(f"{table} holds tables, such as [{table}.NAME]")
            entries = {}
        read = {name: entry(each) for name, each in entries.items()}
        names[table] = frozenset(read)
        found[table] = {name: each.value for name, each in read.items() if each.value is not None}
        problems += [
            f"{table}.{name}: {line}" for name, each in read.items() for line in each.problems
        ]
    return Directory(**found), names, problems


def _problems(directory: Directory, names: Names) -> list[str]:
    return [
        *(
            line
            for name, each in directory.sources.items()
            for line in _source(directory, names, name=name, source=each)
        ),
        *(line for name, each in directory.accounts.items() for line in _account(name, each)),
        *(line for name, each in directory.inboxes.items() for line in _inbox(names, name, each)),
    ]


def _source(directory: Directory, names: Names, *, name: str, source: Source) -> list[str]:
    where = f"sources.{name}"
    is_plain = name.replace("-", "").isalnum() and name.isascii() and name == name.lower()
    rules = (
        (is_plain, "a name has lower-case letters, digits and hyphens only"),
        (len(name) <= MAX_SOURCE_BYTES, f"a name has at most {MAX_SOURCE_BYTES} characters"),
        (source.provider in PROVIDERS, f"provider is one of {', '.join(PROVIDERS)}"),
        (source.scheme in SCHEMES, f"scheme is one of {', '.join(SCHEMES)}"),
        (bool(source.secrets), "secrets names at least one variable"),
        (source.workspace in names["workspaces"], f"no workspace {source.workspace}"),
        (200 <= source.accepted_status < 300, "accepted_status is a 2xx"),  # noqa: PLR2004  # 2xx
        (source.rate_per_second >= 0, "rate_per_second is not negative; 0 is no limit"),
        *(
            (
                inbox in names["inboxes"] and _speaks_for(directory, source, inbox),
                f"inbox {inbox} is not an inbox of workspace {source.workspace}",
            )
            for inbox in source.inboxes
        ),
    )
    return [f"{where}: {sentence}" for is_kept, sentence in rules if not is_kept]


def _speaks_for(directory: Directory, source: Source, inbox: str) -> bool:
    # One that is wrong in itself has been told already.
    found = directory.inboxes.get(inbox)
    return found is None or found.workspace == source.workspace


def _account(name: str, account: Account) -> list[str]:
    rules = (
        (account.provider in PROVIDERS, f"provider is one of {', '.join(PROVIDERS)}"),
        (
            account.base_url.startswith(("https://", "http://127.0.0.1", "http://localhost")),
            "base_url is https, or http on this machine",
        ),
        (bool(account.api_key), "api_key names a variable"),
    )
    return [f"accounts.{name}: {sentence}" for is_kept, sentence in rules if not is_kept]


def _inbox(names: Names, name: str, inbox: Inbox) -> list[str]:
    needs_account = inbox.route in ("send", "draft", "hold")
    rules = (
        (bool(name.strip()), "an inbox has a name"),
        (inbox.workspace in names["workspaces"], f"no workspace {inbox.workspace}"),
        (inbox.route in ROUTES, f"route is one of {', '.join(ROUTES)}"),
        (not needs_account or inbox.account is not None, f"route {inbox.route} needs an account"),
        (
            inbox.account is None or inbox.account in names["accounts"],
            f"no account {inbox.account}",
        ),
    )
    return [f"inboxes.{name}: {sentence}" for is_kept, sentence in rules if not is_kept]
