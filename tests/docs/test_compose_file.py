import os
import shutil
import subprocess

import pytest

from tests.architecture import ROOT

CLIENTS = (("docker-compose",), ("docker", "compose"))
SECRETS = {"AGENTMAIL_WEBHOOK_SECRET": "whsec_synthetic", "AGENTMAIL_API_KEY": "am_synthetic"}


def client() -> tuple[str, ...]:
    """A Compose client of this machine; the test is skipped where there is none."""
    for command in CLIENTS:
        if shutil.which(command[0]) is None:
            continue
        if subprocess.run([*command, "version"], capture_output=True, check=False).returncode == 0:
            return command
    pytest.skip("no Compose client here")


def config(**environ: str) -> "subprocess.CompletedProcess[str]":
    """What the client makes of our file. It needs no engine for that."""
    kept = {name: value for name, value in os.environ.items() if name not in SECRETS}
    return subprocess.run(
        [*client(), "-f", str(ROOT / "docker-compose.yml"), "config", "--services"],
        env=kept | environ,
        capture_output=True,
        text=True,
        check=False,
    )


def test_compose_file_is_valid() -> None:
    """A file that the client refuses helps nobody."""
    result = config(**SECRETS)

    assert (result.returncode, len(result.stdout.split())) == (0, 12), result.stderr


def test_compose_without_secrets_names_the_one_that_is_missing() -> None:
    """A secret with a default would be everybody's secret."""
    result = config(AGENTMAIL_API_KEY="am_synthetic")

    assert result.returncode != 0
    assert "AGENTMAIL_WEBHOOK_SECRET" in result.stderr
