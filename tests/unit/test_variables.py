from ops.env_example import files
from ops.run.directory import standin_directory
from schemas.directory import Directory, parse_directory
from schemas.variables import BESIDES, SETTINGS, unknown_variables


def test_misspelt_setting_is_named_with_the_nearest_one() -> None:
    """A setting that does nothing is found after the damage."""
    names = ["ONEREPLY_GRACE_SEC", "ONEREPLY_GRACE_MS", "HOME", "ONEREPLY_ZZ"]

    assert unknown_variables(names, Directory()) == [
        "ONEREPLY_GRACE_SEC is no setting and is ignored; did you mean ONEREPLY_GRACE_MS?",
        "ONEREPLY_ZZ is no setting and is ignored",
    ]


def test_variables_that_hold_secrets_are_read() -> None:
    """Their names are the user's own."""
    directory = parse_directory(standin_directory("http://127.0.0.1:8090"))
    names = [
        "ONEREPLY_STANDIN_WEBHOOK_SECRET",
        "ONEREPLY_STANDIN_API_KEY",
        "ONEREPLY_STANDIN_API_KEY_FILE",
    ]

    assert unknown_variables(names, directory) == []


def test_every_variable_of_the_example_is_known() -> None:
    """The file from which names are copied."""
    (text,) = files().values()
    shown = {line[2:].partition("=")[0] for line in text.splitlines() if "=" in line}

    ours = {name for name in shown if name.startswith("ONEREPLY_")}
    assert ours - SETTINGS - BESIDES == set()
