"""The sources that are open: each with its verifier, its inboxes and its rate.

Owns: turning the configured sources into open ones, or saying everything that keeps them shut.
May not: run with a source that cannot verify. A secret that goes bad later is answered 503.
"""

import asyncio
import logging
from collections.abc import Mapping
from typing import Final

from ingest.answers import Reason, TurnedAway, accepted
from ingest.fetching import Fetch, fetch
from ingest.keys import Speaker
from ingest.rate import Bucket, drawn
from ingest.rules import RULES
from ingest.secrets import Fingerprint, SecretProblem, Secrets
from ingest.signatures import (
    SCHEMES,
    BadSecret,
    Errand,
    Headers,
    Held,
    Scheme,
    SignatureRejected,
    Verifier,
)
from schemas.addresses import Inboxes
from schemas.directory import Directory
from schemas.errors import SettingsError
from schemas.keys import SourceName, canonical_id
from schemas.sources import Source

# A replaced secret counts within a second; looking at the files each time would cost a system call
# a delivery.
RECHECK_S: Final = 1.0
# A certificate, and a confirmation.
MOST_ERRANDS: Final = 2

NO_SOURCE: Final = "onereply.toml: no source is configured, so nobody could come in"

log = logging.getLogger(__name__)


class OpenSource:
    """One source, ready to judge deliveries. Lives in one event loop."""

    def __init__(
        self,
        name: str,
        settings: Source,
        *,
        inboxes: frozenset[str],
        environ: Mapping[str, str],
        fetch: Fetch,
    ) -> None:
        self.name = SourceName(name)
        self.settings = settings
        self.scheme: Scheme = SCHEMES[settings.scheme]
        self.speaker = Speaker(
            source=self.name,
            rules=RULES[settings.provider],
            inboxes=Inboxes(filter(None, map(canonical_id, inboxes))),
        )
        self.accepted = accepted(settings.answer)
        self._inboxes = inboxes
        self._fetch = fetch
        self._errands = asyncio.Lock()
        self._secrets = Secrets(settings.variables, environ)
        self._fingerprint: Fingerprint = self._secrets.fingerprint()
        self._verifier: Verifier | None = verifier_for(settings, self._secrets)
        self._looked_at_s: float | None = None
        self._bucket = Bucket(tokens=float(settings.rate_per_second), at_s=0.0)

    async def verify(self, headers: Headers, body: bytes, *, now_s: float, steady_s: float) -> str:
        """The delivery's id as far as it is proven, when the proof is good.

        Raises TurnedAway. What the proof needs is fetched first, once for all who wait for it.
        """
        verifier = await self.verifier(steady_s)
        try:
            return verifier.verify(headers, body, now_s=now_s)
        except Errand:
            async with self._errands:
                return await self._after_errands(verifier, headers, body, now_s=now_s)

    async def verifier(self, now_s: float) -> Verifier:
        """The verifier for the secrets as they are now (on the steady clock), at most 1 s old.

        Raises TurnedAway while a secret cannot be read or makes no sense: that may be half of a
        replacement, and is not the sender's fault.
        """
        is_due = self._looked_at_s is None or now_s - self._looked_at_s >= RECHECK_S
        if self._fingerprint and is_due:
            self._looked_at_s = now_s
            await asyncio.to_thread(self._look_again)
        if self._verifier is None:
            raise TurnedAway(Reason.SECRET_UNREADABLE)
        return self._verifier

    def is_at(self, path: Mapping[str, str]) -> bool:
        """Whether this path is its own: one with a secret behind the name, or one without."""
        return ("secret" in path) == bool(self.settings.path_secrets)

    def is_like(self, other: "OpenSource") -> bool:
        """Whether the other says nothing new: the same settings, for the same inboxes."""
        return (self.settings, self._inboxes) == (other.settings, other._inboxes)  # noqa: SLF001  # its own kind

    def take_token(self, now_s: float) -> None:
        """Count one delivery against the source's rate. Raises TurnedAway when it is above it."""
        if not self.settings.rate_per_second:
            return
        self._bucket, wait_s = drawn(self._bucket, now_s, rate=self.settings.rate_per_second)
        if wait_s:
            raise TurnedAway(Reason.TOO_MANY, retry_after_s=wait_s)

    async def _after_errands(
        self, verifier: Verifier, headers: Headers, body: bytes, *, now_s: float
    ) -> str:
        for _ in range(MOST_ERRANDS):
            try:
                return verifier.verify(headers, body, now_s=now_s)
            except Errand as errand:
                errand.take(await self._fetch(errand.url))
        try:
            return verifier.verify(headers, body, now_s=now_s)
        except Errand as error:
            raise SignatureRejected(Reason.SIGNATURE_WRONG) from error

    def _look_again(self) -> None:
        try:
            fingerprint = self._secrets.fingerprint()
            if fingerprint == self._fingerprint and self._verifier is not None:
                return
            self._verifier = verifier_for(self.settings, self._secrets)
        except SecretProblem as problem:
            self._verifier = None
            log.error("secret unreadable", extra={"source": self.name, "problem": str(problem)})  # noqa: TRY400  # the sentence says it all
        else:
            self._fingerprint = fingerprint
            log.info("secret read again", extra={"source": self.name})


class OpenSources:
    """The open sources by name: what the door asks, and what a new file replaces as a whole."""

    def __init__(self, sources: Mapping[str, OpenSource]) -> None:
        self._sources = dict(sources)

    def get(self, name: str) -> OpenSource | None:
        """The source of this name, or None where none is configured."""
        return self._sources.get(name)

    def replace(self, sources: Mapping[str, OpenSource]) -> None:
        """From here on these. One that says the same as before goes on, with all it remembers."""
        self._sources = {
            name: old if (old := self._sources.get(name)) and old.is_like(new) else new
            for name, new in sources.items()
        }


def open_sources(
    directory: Directory, environ: Mapping[str, str], *, fetch: Fetch = fetch
) -> dict[str, OpenSource]:
    """Every configured source, open. Raises SettingsError with all that keeps any of them shut."""
    if problems := secret_problems(directory, environ):
        raise SettingsError(problems)
    if not directory.sources:
        raise SettingsError([NO_SOURCE])
    return {
        name: OpenSource(
            name, source, inboxes=directory.inboxes_of(source), environ=environ, fetch=fetch
        )
        for name, source in directory.sources.items()
    }


def secret_problems(directory: Directory, environ: Mapping[str, str]) -> list[str]:
    """One line for each secret that is missing or malformed, with what to do."""
    return [
        f"sources.{name}: {problem}"
        for name, source in directory.sources.items()
        for problem in _problems_of(source, environ)
    ]


def verifier_for(source: Source, secrets: Secrets) -> Verifier:
    """The source's verifier for its secrets as they are now. Raises SecretProblem."""
    named = secrets.read()
    for name, secret in named:
        _check(source, name, secret)
    held = [secret for _, secret in named]
    count = len(source.secrets)
    return SCHEMES[source.scheme].verifier(Held(secrets=held[:count], paths=held[count:]), source)


def _check(source: Source, name: str, secret: str) -> None:
    """Return when the scheme takes this secret. Raises SecretProblem with its variable."""
    is_path = name in source.path_secrets
    held = Held(paths=[secret]) if is_path else Held(secrets=[secret])
    try:
        SCHEMES[source.scheme].verifier(held, source)
    except BadSecret as error:
        raise SecretProblem(f"{name} {error}") from error


def _problems_of(source: Source, environ: Mapping[str, str]) -> list[str]:
    problems = []
    for name in source.variables:
        try:
            for each, secret in Secrets([name], environ).read():
                _check(source, each, secret)
        except SecretProblem as problem:
            problems.append(str(problem))
    return problems
