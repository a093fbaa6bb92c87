import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ops.sources import sources
from schemas.sources import PROVIDERS
from tests.doors import DIRECTORY, SECRET_A

BROKEN = (
    DIRECTORY.replace('provider = "agentmail"', 'provider = "pigeon"') + "accepted_status = 9\n"
)


def check(text: str, folder: Path, *options: str, **environ: str) -> Result:
    """What the command says about a file with this text."""
    file = folder / "onereply.toml"
    file.write_text(text)
    return CliRunner().invoke(sources, ["check", "--file", str(file), *options], env=environ)


def test_good_file_with_good_secrets_shows_where_to_post(tmp_path: Path) -> None:
    """The path is what goes into the provider's settings."""
    result = check(DIRECTORY, tmp_path, SECRET=SECRET_A)

    assert result.exit_code == 0
    assert result.output == (
        "POST /webhooks/agentmail  agentmail, svix, workspace main, 2 inboxes\n"
    )


def test_every_problem_of_the_file_is_reported(tmp_path: Path) -> None:
    """One at a time would be one try for each."""
    result = check(BROKEN, tmp_path, SECRET=SECRET_A)

    assert result.exit_code == 2
    assert result.stderr.splitlines() == [
        f"onereply.toml: sources.agentmail: provider is one of {', '.join(PROVIDERS)}",
        "onereply.toml: sources.agentmail: accepted_status is a 2xx",
    ]


def test_missing_secret_is_a_problem_unless_only_the_file_is_asked_for(tmp_path: Path) -> None:
    """A file is also checked where its secrets are not, before it is rolled out."""
    assert check(DIRECTORY, tmp_path).exit_code == 2
    assert check(DIRECTORY, tmp_path, "--without-secrets").exit_code == 0


@pytest.mark.parametrize(
    ("text", "problems"), [(DIRECTORY, 0), (BROKEN, 2), ("not toml", 1), ("", 1)]
)
def test_json_holds_the_same(text: str, problems: int, tmp_path: Path) -> None:
    """Scripts read this."""
    result = check(text, tmp_path, "--json", SECRET=SECRET_A)

    assert len(json.loads(result.stdout)["problems"]) == problems
    assert result.exit_code == (2 if problems else 0)


def test_file_that_is_not_there_is_a_problem(tmp_path: Path) -> None:
    """One sentence, no traceback."""
    result = CliRunner().invoke(sources, ["check", "--file", str(tmp_path / "none.toml")])

    assert (result.exit_code, result.stderr) == (
        2,
        f"{tmp_path}/none.toml: No such file or directory\n",
    )
