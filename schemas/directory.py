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
from schemas.sources import Rule, Source, source_rules

ROUTES: Final = ("store", "notify", "draft", "send", "hold", "quarantine", "refuse")
# Through whose API replies can leave.
ACCOUNTS: Final = ("agentmail",)


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


# The keys that say nothing, by table and name.
Wrong = Mapping[tuple[str, str], frozenset[str]]


def parse_directory(text: str) -> Directory:
    """The directory in this TOML. Raises SettingsError with every problem, not the first."""
    try:
        given = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError([f"onereply.toml: {error}"]) from error
    directory, wrong, problems = _read(given)
    if problems := problems + _problems(directory, wrong):
        raise SettingsError([f"onereply.toml: {problem}" for problem in problems])
    return directory


def _read(given: dict[str, Any]) -> tuple[Directory, Wrong, list[str]]:
    """The entries, the keys of theirs that say nothing, and what is wrong."""
    problems = unknown_keys(given, TABLES)
    found: dict[str, dict[str, Any]] = {}
    wrong: dict[tuple[str, str], frozenset[str]] = {}
    for table, entry in TABLES.items():
        entries = given.get(table, {})
        if not isinstance(entries, dict):
            problems.append(f"{table} holds tables, such as [{table}.NAME]")
            entries = {}
        read = {name: entry(each) for name, each in entries.items()}
        found[table] = {name: each.value for name, each in read.items()}
        wrong |= {(table, name): each.wrong for name, each in read.items()}
        problems += [
            f"{table}.{name}: {line}" for name, each in read.items() for line in each.problems
        ]
    return Directory(**found), wrong, problems


def _problems(directory: Directory, wrong: Wrong) -> list[str]:
    rules = {
        **{
            ("sources", name): _source(directory, wrong, name=name, source=each)
            for name, each in directory.sources.items()
        },
        **{("accounts", name): _account(each) for name, each in directory.accounts.items()},
        **{
            ("inboxes", name): _inbox(directory, name, each)
            for name, each in directory.inboxes.items()
        },
    }
    return [
        f"{table}.{name}: {sentence}"
        for (table, name), of_entry in rules.items()
        for key, is_kept, sentence in of_entry
        if not is_kept and key not in wrong[table, name]
    ]


def _source(directory: Directory, wrong: Wrong, *, name: str, source: Source) -> list[Rule]:
    workspace = source.workspace
    return [
        *source_rules(name, source),
        ("workspace", workspace in directory.workspaces, f"no workspace {workspace}"),
        *(
            (
                "workspace",
                inbox in directory.inboxes
                and (
                    directory.inboxes[inbox].workspace == workspace
                    or "workspace" in wrong["inboxes", inbox]
                ),
                f"inbox {inbox} is not an inbox of workspace {workspace}",
            )
            for inbox in source.inboxes
        ),
    ]


def _account(account: Account) -> list[Rule]:
    is_safe = account.base_url.startswith(("https://", "http://127.0.0.1", "http://localhost"))
    return [
        ("provider", account.provider in ACCOUNTS, f"provider is one of {', '.join(ACCOUNTS)}"),
        ("base_url", is_safe, "base_url is https, or http on this machine"),
        ("api_key", bool(account.api_key), "api_key names a variable"),
    ]


def _inbox(directory: Directory, name: str, inbox: Inbox) -> list[Rule]:
    account, needs_account = inbox.account, inbox.route in ("send", "draft", "hold")
    return [
        ("", bool(name.strip()), "an inbox has a name"),
        ("workspace", inbox.workspace in directory.workspaces, f"no workspace {inbox.workspace}"),
        ("route", inbox.route in ROUTES, f"route is one of {', '.join(ROUTES)}"),
        (
            "account",
            not needs_account or account is not None,
            f"route {inbox.route} needs an account",
        ),
        ("account", account is None or account in directory.accounts, f"no account {account}"),
    ]
