import pytest

from schemas.directory import parse_directory
from schemas.errors import SettingsError
from schemas.sources import PROVIDERS
from tests.architecture import ROOT

GOOD = """
[workspaces.main]
[sources.agentmail]
provider = "agentmail"
workspace = "main"
secrets = ["SECRET"]
[accounts.agentmail]
provider = "agentmail"
base_url = "https://api.agentmail.to"
api_key = "API_KEY"
[inboxes."help@x.example"]
workspace = "main"
account = "agentmail"
route = "send"
[inboxes."news@x.example"]
workspace = "main"
"""

WRONG_LINES = {
    "unknown provider": (
        'provider = "agentmail"\nworkspace',
        'provider = "pigeon"\nworkspace',
        f"sources.agentmail: provider is one of {', '.join(PROVIDERS)}",
    ),
    "unknown workspace": (
        'workspace = "main"\nsecrets',
        'workspace = "other"\nsecrets',
        "sources.agentmail: no workspace other",
    ),
    "no secret": (
        'secrets = ["SECRET"]',
        "secrets = []",
        "sources.agentmail: secrets names at least one variable",
    ),
    "source with a slash": (
        "[sources.agentmail]",
        '[sources."agent/mail"]',
        "sources.agent/mail: a name has lower-case letters, digits and hyphens only",
    ),
    "source too long": (
        "[sources.agentmail]",
        f"[sources.{'a' * 65}]",
        f"sources.{'a' * 65}: a name has at most 64 characters",
    ),
    "inbox of another workspace": (
        'secrets = ["SECRET"]',
        'secrets = ["SECRET"]\ninboxes = ["who@x.example"]',
        "sources.agentmail: inbox who@x.example is not an inbox of workspace main",
    ),
    "answer outside 2xx": (
        'secrets = ["SECRET"]',
        'secrets = ["SECRET"]\naccepted_status = 302',
        "sources.agentmail: accepted_status is a 2xx",
    ),
    "negative rate": (
        'secrets = ["SECRET"]',
        'secrets = ["SECRET"]\nrate_per_second = -1',
        "sources.agentmail: rate_per_second is not negative; 0 is no limit",
    ),
    "plain http to the world": (
        "https://api.agentmail.to",
        "http://api.agentmail.to",
        "accounts.agentmail: base_url is https, or http on this machine",
    ),
    "no key": (
        'api_key = "API_KEY"',
        'api_key = ""',
        "accounts.agentmail: api_key names a variable",
    ),
    "unknown route": (
        'route = "send"',
        'route = "shout"',
        (
            "inboxes.help@x.example: route is one of "
            "store, notify, draft, send, hold, quarantine, refuse"
        ),
    ),
    "sends from nowhere": (
        'account = "agentmail"\n',
        "",
        "inboxes.help@x.example: route send needs an account",
    ),
    "unknown account": (
        'account = "agentmail"',
        'account = "other"',
        "inboxes.help@x.example: no account other",
    ),
}


def problems_of(text: str) -> list[str]:
    """What keeps this file from being used."""
    with pytest.raises(SettingsError) as caught:
        parse_directory(text)
    return list(caught.value.problems)


def test_inbox_that_says_nothing_stores() -> None:
    """Nobody is answered by accident."""
    assert parse_directory(GOOD).inboxes["news@x.example"].route == "store"


def test_source_speaks_for_its_workspace_unless_it_lists_inboxes() -> None:
    """A second customer's source must not open the first one's inboxes."""
    listed = GOOD.replace('secrets = ["SECRET"]', 'secrets = ["S"]\ninboxes = ["news@x.example"]')
    whole, narrow = parse_directory(GOOD), parse_directory(listed)

    assert whole.inboxes_of(whole.sources["agentmail"]) == {"help@x.example", "news@x.example"}
    assert narrow.inboxes_of(narrow.sources["agentmail"]) == {"news@x.example"}


@pytest.mark.parametrize(("old", "new", "expected"), WRONG_LINES.values(), ids=WRONG_LINES)
def test_wrong_line_is_named(old: str, new: str, expected: str) -> None:
    """A typing mistake must not become a closed door or an unsigned one."""
    assert old in GOOD
    assert problems_of(GOOD.replace(old, new)) == [f"onereply.toml: {expected}"]


def test_every_problem_is_reported_at_once() -> None:
    """One at a time would be one try for each."""
    text = GOOD.replace('"send"', '"shout"').replace("https:", "http:").replace('["SECRET"]', "[]")

    assert [line.split()[1] for line in problems_of(text)] == [
        "sources.agentmail:",
        "accounts.agentmail:",
        "inboxes.help@x.example:",
    ]


def test_unknown_key_hides_no_other_mistake_and_names_its_place() -> None:
    """The first mistake in a file is seldom the only one."""
    text = GOOD.replace('account = "agentmail"\n', 'acount = "agentmail"\n').replace(
        "main", "mian", 1
    )

    assert problems_of(text) == [
        "onereply.toml: inboxes.help@x.example: unknown key acount; did you mean account?",
        "onereply.toml: sources.agentmail: no workspace main",
        "onereply.toml: inboxes.help@x.example: no workspace main",
        "onereply.toml: inboxes.help@x.example: route send needs an account",
        "onereply.toml: inboxes.news@x.example: no workspace main",
    ]


SHAPES = {
    "no TOML": ("not = toml = at all", ["Invalid value"]),
    "unknown table": ("[sorces.a]", ["unknown key sorces; did you mean sources?"]),
    "unlike anything": ("zebra = 1", ["unknown key zebra"]),
    "keys missing": (
        "[sources.a]\nsecret = 1",
        [
            "sources.a: unknown key secret; did you mean secrets?",
            "sources.a: provider is missing",
            "sources.a: workspace is missing",
            "sources.a: secrets names at least one variable",
        ],
    ),
    "value of another kind": (
        "[workspaces.w]\n[inboxes.i]\nworkspace = 1",
        ["inboxes.i: workspace: Expected `str`, got `int`"],
    ),
    "text for a table": ("inboxes = 'i'", ["inboxes holds tables, such as [inboxes.NAME]"]),
    "text in a table": ("[inboxes]\ni = 'i'", ["inboxes.i: is a table, not one value"]),
    "tables of one name": ("[[inboxes.i]]", ["inboxes.i: is a table, not a list"]),
    "label of another kind": (
        "[workspaces.w]\nx = 1",
        ["workspaces.w: Expected `str`, got `int` - at `$[...]`"],
    ),
}


@pytest.mark.parametrize(("text", "expected"), SHAPES.values(), ids=SHAPES)
def test_file_of_another_shape_is_refused(text: str, expected: list[str]) -> None:
    """A misspelt name would otherwise be a setting that does nothing."""
    told = [
        line.removeprefix("onereply.toml: ").partition(" (at ")[0] for line in problems_of(text)
    ]

    assert told == expected


def test_missing_key_hides_no_wrong_one() -> None:
    """An entry that is not whole still says what is wrong with the rest of it."""
    text = GOOD.replace('secrets = ["SECRET"]', "").replace(
        'base_url = "https:', 'base_url = "ftp:'
    )
    text = text.replace('api_key = "API_KEY"', "").replace(
        '[inboxes."news@x.example"]\nworkspace = "main"', '[inboxes.n]\nroute = "shout"'
    )

    assert problems_of(text) == [
        "onereply.toml: accounts.agentmail: api_key is missing",
        "onereply.toml: inboxes.n: workspace is missing",
        "onereply.toml: sources.agentmail: secrets names at least one variable",
        "onereply.toml: accounts.agentmail: base_url is https, or http on this machine",
        (
            "onereply.toml: inboxes.n: route is one of "
            "store, notify, draft, send, hold, quarantine, refuse"
        ),
    ]


def test_entry_that_is_wrong_in_itself_is_not_called_missing() -> None:
    """Two lines for one mistake send the reader to the wrong one."""
    text = GOOD.replace('api_key = "API_KEY"', "api_key = 1").replace(
        'secrets = ["SECRET"]', 'secrets = ["S"]\ninboxes = ["news@x.example"]'
    )
    text = text.replace('[inboxes."news@x.example"]\n', '[inboxes."news@x.example"]\nroute = 1\n')

    assert problems_of(text) == [
        "onereply.toml: accounts.agentmail: api_key: Expected `str`, got `int`",
        "onereply.toml: inboxes.news@x.example: route: Expected `str`, got `int`",
    ]


def test_example_file_is_good() -> None:
    """It is the first file that a newcomer copies."""
    directory = parse_directory((ROOT / "examples" / "onereply.toml").read_text(encoding="utf-8"))

    assert sorted(directory.inboxes) == [
        "archive@example.com",
        "billing@example.com",
        "support@example.com",
    ]
