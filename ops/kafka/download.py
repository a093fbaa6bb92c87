"""Jars from Maven Central, through jgo: its one home.

Owns: where a download lies until its SHA-256 is checked, and how often one is tried.
May not: resolve versions; what is fetched is exactly what the lock file names. (jgo's own `sync`
would also fetch a whole JDK to sort the jars, where the machine has none.)
"""

import os
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import requests
from jgo.config import GlobalSettings
from jgo.constants import MAVEN_CENTRAL_URL
from jgo.maven import Artifact, MavenContext, PythonResolver

from ops.kafka.errors import BrokerAway
from ops.kafka.jars import Jar, check_jar
from ops.kafka.telling import Teller

ATTEMPTS: Final = 3
PAUSE_S: Final = 1.0
AT_ONCE: Final = 8
# Silence on the line for so long is a dead connection.
READ_TIMEOUT_S: Final = 30
STAGING_PREFIX: Final = "download-"
# How OpenSSL names a certificate that nobody here vouches for, whichever library passes it on.
UNTRUSTED: Final = "CERTIFICATE_VERIFY_FAILED"
# Where requests takes its certificates from, the first that is set.
CA_VARIABLES: Final = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")


class _Meter:
    """Counts bytes and jars of all downloads, and shows both."""

    def __init__(self, jars: int, teller: Teller) -> None:
        self._jars, self._teller = jars, teller
        self._guard = threading.Lock()
        self._done = self._bytes = 0

    @contextmanager
    def jar(self, _filename: str, _size: int) -> Iterator[Any]:
        yield self._add
        with self._guard:
            self._done += 1
            self._show()

    def _add(self, count: int) -> None:
        with self._guard:
            self._bytes += count
            self._show()

    def _show(self) -> None:
        megabytes = self._bytes / 1_000_000
        self._teller.show(f"{self._done} of {self._jars} jars, {megabytes:.1f} MB")


def download(jars: Sequence[Jar], folder: Path, *, teller: Teller) -> None:
    """Bring the jars into the folder; each appears there whole and checked, or not at all.

    The caller holds the folder's lock: what an interrupted download left is removed.
    Raises BrokerAway when they cannot be had, JarRefused when one is not what the lock names.
    """
    _require_certificates()
    folder.mkdir(parents=True, exist_ok=True)
    for left_over in folder.glob(f"{STAGING_PREFIX}*"):
        shutil.rmtree(left_over)
    with tempfile.TemporaryDirectory(prefix=STAGING_PREFIX, dir=folder) as staging:
        maven = MavenContext(
            resolver=PythonResolver(progress_callback=_Meter(len(jars), teller).jar),
            repo_cache=Path(staging),
            remote_repos={"central": MAVEN_CENTRAL_URL} | _own_repositories(),
            timeout=READ_TIMEOUT_S,
        )
        with ThreadPoolExecutor(AT_ONCE) as pool:
            waiting = [pool.submit(_fetch, jar, maven, folder=folder) for jar in jars]
            try:
                for fetched in as_completed(waiting):
                    fetched.result()
            finally:
                pool.shutdown(wait=True, cancel_futures=True)


def _require_certificates() -> None:
    """Return when the certificates that the user names are there. Raises BrokerAway."""
    name = next((each for each in CA_VARIABLES if os.environ.get(each)), None)
    if name is not None and not Path(os.environ[name]).exists():
        raise BrokerAway(f"{name} names {os.environ[name]}, and there is no such file.")


def _own_repositories() -> dict[str, str]:
    """The mirrors that the user gave jgo; none when there is no home to look in."""
    try:
        return dict(GlobalSettings.load().repositories)
    except (OSError, RuntimeError):
        return {}


def _fetch(jar: Jar, maven: MavenContext, *, folder: Path) -> None:
    artifact = maven.project(jar.group, jar.artifact).at_version(jar.version).artifact()
    path = _resolved(artifact)
    for attempt in range(1, ATTEMPTS):
        if isinstance(path, Path):
            break
        time.sleep(PAUSE_S * attempt)
        path = _resolved(artifact)
    if not isinstance(path, Path):
        raise BrokerAway(_sentence(jar, path)) from path
    check_jar(jar, path, advice="Whoever served it, served other bytes.")
    path.replace(folder / jar.filename)


def _resolved(artifact: Artifact) -> Path | Exception:
    """The file, or why there is none; then nothing of it is left.

    A cut line leaves a part of the file, which jgo would take for the whole the next time.
    """
    try:
        return artifact.resolve()
    except (requests.RequestException, RuntimeError) as error:
        if artifact.cached_path:
            artifact.cached_path.unlink(missing_ok=True)
        return error


def _sentence(jar: Jar, error: Exception) -> str:
    if isinstance(error, requests.RequestException):
        asked = getattr(error.request, "url", None) or MAVEN_CENTRAL_URL
        host = urlsplit(asked).hostname
        if UNTRUSTED in str(error):
            return (
                f"The certificate of {host} is not trusted: the jars of Kafka come from there, "
                "once. Set REQUESTS_CA_BUNDLE to your CA's file."
            )
        return f"No answer from {host}: the jars of Kafka come from there, once. Is the network up?"
    return f"{jar.filename} is not to be had from Maven Central: {str(error).splitlines()[0]}"
