"""A user name and a password in `Authorization: Basic`, and a secret at the end of the path.

Owns: both comparisons. Source: RFC 7617; providers.md 5.1: Postmark signs nothing.
May not: say that it proves the body, or who sent it: whoever knows the words may come.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from ingest.answers import Reason
from ingest.signatures.keys import bounded, is_any_of, strict_base64
from ingest.signatures.scheme import PATH, BadSecret, Headers, Held, Proves, Scheme
from ingest.signatures.scheme import SignatureRejected as Rejected

# Nothing but these words stands between a stranger and the log.
MIN_PASSWORD_BYTES: Final = 16
# RFC 3986 2.3: what a path carries as it is.
_IN_PATHS: Final = re.compile(r"[0-9A-Za-z._~-]+")


class BasicVerifier:
    """Accepts any one of its logins, on any one of its paths; without paths, on the plain one."""

    def __init__(self, logins: Sequence[str], paths: Sequence[str]) -> None:
        self._logins = [login_in(each) for each in logins]
        self._paths = [path_in(each) for each in paths]

    def verify(self, headers: Headers, body: bytes, *, now_s: float) -> str:  # noqa: ARG002  # nothing is signed
        """Nothing: no delivery is named. Returns when login and path are known."""
        scheme, _, given = bounded(headers.get(b"authorization", b"")).partition(b" ")
        if scheme.lower() != b"basic":
            raise Rejected(Reason.SIGNATURE_MALFORMED)
        login = strict_base64(given.strip())
        if login is None:
            raise Rejected(Reason.SIGNATURE_MALFORMED)
        is_known = is_any_of(login, self._logins)
        is_at_home = not self._paths or is_any_of(headers.get(PATH, b""), self._paths)
        if not (is_known and is_at_home):
            raise Rejected(Reason.SIGNATURE_WRONG)
        return ""

    def verify_parts(self, headers: Headers, parts: Iterable[bytes], *, now_s: float) -> str:  # noqa: ARG002  # nothing is signed
        """The same: no body is looked at."""
        return self.verify(headers, b"", now_s=now_s)


def _verifier(held: Held) -> BasicVerifier:
    return BasicVerifier(held.secrets, held.paths)


SCHEME: Final = Scheme(proves=Proves.NEITHER, verifier=lambda held, _: _verifier(held))


def login_in(secret: str) -> bytes:
    """The login as it is sent. Raises BadSecret with what to do."""
    login = secret.strip().encode("utf-8", "surrogateescape")
    _, colon, password = login.partition(b":")
    if not colon or len(password) < MIN_PASSWORD_BYTES:
        raise BadSecret(
            "is not a user name, a colon and a password of at least "
            f"{MIN_PASSWORD_BYTES} bytes, as they stand in the webhook's address"
        )
    return login


def path_in(secret: str) -> bytes:
    """The end of the path. Raises BadSecret with what to do."""
    text = secret.strip()
    if not _IN_PATHS.fullmatch(text) or len(text) < MIN_PASSWORD_BYTES:
        raise BadSecret(
            f"is not at least {MIN_PASSWORD_BYTES} letters, digits, dots, hyphens, underscores or "
            "tildes, as a path can carry them"
        )
    return text.encode()
