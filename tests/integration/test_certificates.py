"""Downloads behind a proxy that opens TLS, which is how most companies' networks are."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ops import bootstrap
from tests.broker import ROOT
from tests.intercepting import intercepting_proxy

DEADLINE_S = 120.0
# What would make the certificate trusted, or lead past the proxy.
AROUND = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT", "NO_PROXY", "no_proxy", "https_proxy")


@pytest.fixture
def environ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """An environment whose way out is such a proxy."""
    for name in AROUND:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/nonexistent")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", "https://index.example/simple")
    with intercepting_proxy(tmp_path) as url:
        monkeypatch.setenv("HTTPS_PROXY", url)
        yield monkeypatch


def kafka_start(data_dir: Path) -> "subprocess.CompletedProcess[str]":
    """A start that has to download first."""
    command = "from ops.cli import main; main()"
    options = ("kafka", "start", "--port", "0", "--data-dir", str(data_dir))
    return subprocess.run(
        [sys.executable, "-c", command, *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )


@pytest.mark.usefixtures("environ")
def test_jars_behind_an_untrusted_certificate_say_what_to_set(tmp_path: Path) -> None:
    """The network is up, and whoever is asked whether it is looks in the wrong place."""
    refused = kafka_start(tmp_path)

    assert (refused.returncode, refused.stderr.splitlines()[-1]) == (
        3,
        (
            "Error: The certificate of repo.maven.apache.org is not trusted: the jars of Kafka "
            "come from there, once. Set REQUESTS_CA_BUNDLE to your CA's file."
        ),
    )


def test_certificates_that_are_not_there_are_named(
    tmp_path: Path, environ: pytest.MonkeyPatch
) -> None:
    """A typing error in the variable must not look like a crash."""
    environ.setenv("REQUESTS_CA_BUNDLE", "/nonexistent/ca.pem")

    refused = kafka_start(tmp_path)

    assert (refused.returncode, refused.stderr.splitlines()[-1]) == (
        3,
        "Error: REQUESTS_CA_BUNDLE names /nonexistent/ca.pem, and there is no such file.",
    )


@pytest.mark.usefixtures("environ")
def test_packages_behind_an_untrusted_certificate_say_what_to_set(tmp_path: Path) -> None:
    """What pip says of it in the end is that it found no distribution."""
    for folder in ("ops", ".onereply", "target"):
        (tmp_path / folder).mkdir()
    (tmp_path / "ops" / "constraints.txt").touch()
    (tmp_path / ".venv").symlink_to(sys.prefix)
    options = ["--retries", "1", "--no-deps", "--target", str(tmp_path / "target")]

    with pytest.raises(bootstrap.SetupFailed, match="set PIP_CERT to your CA's file") as caught:
        bootstrap.run_pip([*options, "msgspec"], tmp_path, lambda _done: None)

    assert caught.value.code == 3
