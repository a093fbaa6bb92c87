import pytest

from ops.run.directory import Hook, filled_in, hooks_of, served_by, standin_directory
from ops.run.folder import Secrets
from schemas.directory import parse_directory

STANDIN = "http://127.0.0.1:8090"
MADE = Secrets(webhook_secret="whsec_bWFkZQ==", api_key="am_made")
MIXED = f"""
[workspaces.a]
[sources.here]
provider = "agentmail"
workspace = "a"
secrets = ["HERE"]
inboxes = ["test@a.example"]
[sources.there]
provider = "agentmail"
workspace = "a"
secrets = ["THERE"]
inboxes = ["real@a.example"]
[accounts.standin]
provider = "agentmail"
base_url = "{STANDIN}/"
api_key = "KEY_HERE"
[accounts.real]
provider = "agentmail"
base_url = "https://api.agentmail.to"
api_key = "KEY_THERE"
[inboxes."test@a.example"]
workspace = "a"
account = "standin"
route = "send"
[inboxes."real@a.example"]
workspace = "a"
account = "real"
route = "send"
"""


def test_file_for_the_standin_has_an_inbox_that_answers_one_that_holds_and_one_that_stores() -> (
    None
):
    """What can be tried is what a newcomer sees first."""
    directory = parse_directory(standin_directory(STANDIN))

    assert sorted(each.route for each in directory.inboxes.values()) == ["hold", "send", "store"]
    assert set(served_by(directory, STANDIN).inboxes) == set(directory.inboxes)


def test_standin_serves_only_what_has_its_account_there() -> None:
    """A file of the user's may speak of a real provider as well."""
    served = served_by(parse_directory(MIXED), STANDIN)

    assert (served.sources, dict(served.inboxes)) == (("here",), {"test@a.example": "send"})


def test_secrets_are_filled_in_for_the_standin_alone() -> None:
    """A real source with a secret that nobody knows would refuse every delivery, silently."""
    directory = parse_directory(MIXED)
    served = served_by(directory, STANDIN)

    assert filled_in(directory, served, MADE, environ={}) == {
        "HERE": MADE.webhook_secret,
        "KEY_HERE": MADE.api_key,
    }


@pytest.mark.parametrize("name", ["HERE", "HERE_FILE"])
def test_secret_that_the_user_has_set_is_kept(name: str) -> None:
    """Whoever sets one has a reason, e.g. a client that signs with it."""
    directory = parse_directory(MIXED)
    served = served_by(directory, STANDIN)

    filled = filled_in(directory, served, MADE, environ={name: "theirs"})

    assert filled == {"KEY_HERE": MADE.api_key}


def test_webhook_of_a_source_has_the_sources_secret_and_inboxes() -> None:
    """The provider must sign with what the door verifies."""
    directory = parse_directory(MIXED)
    served = served_by(directory, STANDIN)

    hooks = hooks_of(directory, served, environ={"HERE": "whsec_c2VjcmV0"})

    assert hooks == (Hook(source="here", secret="whsec_c2VjcmV0", inboxes=("test@a.example",)),)
