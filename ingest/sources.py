"""The sources that are open: each with its verifier, its inboxes and its rate.

Owns: turning the configured sources into open ones, or saying everything that keeps them shut.
May not: run with a source that cannot verify. A secret that goes bad later is answered 503.
"""

import asyncio
import logging
from collections.abc import Mapping
from typing import Final

from ingest.answers import Reason, TurnedAway
from ingest.keys import RULES, Rules
from ingest.rate import Bucket, drawn
from ingest.secrets import Fingerprint, SecretProblem, Secrets
from ingest.signatures import SCHEMES, BadSecret, Scheme, Verifier
from schemas.directory import Directory, Source
from schemas.errors import SettingsError
from schemas.keys import SourceName, canonical_id

# A replaced secret counts within a second; looking at the files each time would cost a system call
# a delivery.
RECHECK_S: Final = 1.0

NO_SOURCE: Final = "onereply.toml: no source is configured, so nobody could come in"

log = logging.getLogger(__name__)


class OpenSource:
    """One source, ready to judge deliveries. Lives in one event loop."""

    def __init__(
        self, name: str, settings: Source, *, inboxes: frozenset[str], secrets: Secrets
    ) -> None:
        self.name = SourceName(name)
        self.settings = settings
        self.rules: Rules = RULES[settings.provider]
        self.scheme: Scheme = SCHEMES[settings.scheme]
        self.inboxes = frozenset(filter(None, map(canonical_id, inboxes)))
        self._secrets = secrets
        self._fingerprint: Fingerprint = secrets.fingerprint()
        self._verifier: Verifier | None = verifier_for(self.scheme, secrets)
        self._looked_at_s: float | None = None
        self._bucket = Bucket(tokens=float(settings.rate_per_second), at_s=0.0)

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

    def take_token(self, now_s: float) -> None:
        """Count one delivery against the source's rate. Raises TurnedAway when it is above it."""
        if not self.settings.rate_per_second:
            return
        self._bucket, wait_s = drawn(self._bucket, now_s, rate=self.settings.rate_per_second)
        if wait_s:
            raise TurnedAway(Reason.TOO_MANY, retry_after_s=wait_s)

    def _look_again(self) -> None:
        try:
            fingerprint = self._secrets.fingerprint()
            if fingerprint == self._fingerprint and self._verifier is not None:
                return
            self._verifier = verifier_for(self.scheme, self._secrets)
        except SecretProblem as problem:
            self._verifier = None
            log.error("secret unreadable", extra={"source": self.name, "problem": str(problem)})  # noqa: TRY400  # the sentence says it all
        else:
            self._fingerprint = fingerprint
            log.info("secret read again", extra={"source": self.name})


def open_sources(directory: Directory, environ: Mapping[str, str]) -> dict[str, OpenSource]:
    """Every configured source, open. Raises SettingsError with all that keeps any of them shut."""
    if problems := secret_problems(directory, environ):
        raise SettingsError(problems)
    if not directory.sources:
        raise SettingsError([NO_SOURCE])
    return {
        name: OpenSource(
            name,
            source,
            inboxes=directory.inboxes_of(source),
            secrets=Secrets(source.secrets, environ),
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


def verifier_for(scheme: Scheme, secrets: Secrets) -> Verifier:
    """The scheme's verifier for the secrets as they are now. Raises SecretProblem."""
    named = secrets.read()
    for name, secret in named:
        try:
            scheme.verifier([secret])
        except BadSecret as error:
            raise SecretProblem(f"{name} {error}") from error
    return scheme.verifier([secret for _, secret in named])


def _problems_of(source: Source, environ: Mapping[str, str]) -> list[str]:
    problems = []
    for name in source.secrets:
        try:
            verifier_for(SCHEMES[source.scheme], Secrets([name], environ))
        except SecretProblem as problem:
            problems.append(str(problem))
    return problems
