"""Mailgun: HMAC-SHA256 over a time and a token that stand in the body. The body is not covered.

Owns: where the three stand, and that a token is good for one mail only.
Source: providers.md 5.3.
May not: say that it proves the body. It has to read a body that nothing has proven yet.
"""

import hmac
from collections import OrderedDict
from collections.abc import Sequence
from hashlib import sha256
from typing import Final

from ingest.answers import Reason, TurnedAway
from ingest.forms import kind_of
from ingest.payloads import Payload, Place, payload_of
from ingest.rules import MAILGUN
from ingest.signatures.keys import is_any_of, text_key
from ingest.signatures.scheme import Headers, Proves, Scheme, SignatureRejected
from ingest.signatures.times import TOLERANCE_S, check_age, seconds_in
from schemas.keys import framed

# providers.md 5.3: a token has 50 characters.
MAX_TOKEN_BYTES: Final = 256
# Tokens are remembered while their time is good; more than these in ten minutes are not expected.
MAX_TOKENS: Final = 100_000

_SIGNED: Final = ("timestamp", "token", "signature")
# What tells one mail, or one event, from another, however its body is written the next time.
_MAIL: Final = (
    ("recipient",),
    ("sender",),
    ("message-headers",),
    ("body-mime",),
    ("event-data", "event"),
    ("event-data", "id"),
)
_FIELDS: Final = frozenset((*_SIGNED, *(place[0] for place in _MAIL)))


class MailgunVerifier:
    """Accepts what any one of its signing keys signed, each token with one mail.

    The same mail again is welcome: Mailgun comes again when it had no answer.
    """

    def __init__(
        self,
        secrets: Sequence[str],
        *,
        max_age_s: int = TOLERANCE_S,
        most_tokens: int = MAX_TOKENS,
    ) -> None:
        self._keys = [text_key(secret) for secret in secrets]
        self._max_age_s = max_age_s
        self._most_tokens = most_tokens
        self._mails: OrderedDict[str, tuple[float, bytes]] = OrderedDict()

    def verify(self, headers: Headers, body: bytes, *, now_s: float) -> str:
        """The token, when one of the keys signed it lately and no other mail came with it."""
        payload = _payload(headers, body)
        timestamp, token, signature = (_one(payload, name) for name in _SIGNED)
        check_age(seconds_in(timestamp), now_s=now_s, max_age_s=self._max_age_s)
        if not any(
            is_any_of(hmac.digest(key, timestamp + token, "sha256").hex().encode(), [signature])
            for key in self._keys
        ):
            raise SignatureRejected(Reason.SIGNATURE_WRONG)
        self._spend(token.decode(), _mail(payload), now_s=now_s)
        return token.decode()

    def _spend(self, token: str, mail: bytes, *, now_s: float) -> None:
        """Remember what came with this token. Raises SignatureRejected when it was another mail."""
        horizon_s = now_s - self._max_age_s - TOLERANCE_S
        while self._mails and (
            len(self._mails) >= self._most_tokens or next(iter(self._mails.values()))[0] < horizon_s
        ):
            self._mails.popitem(last=False)
        _, first = self._mails.setdefault(token, (now_s, mail))
        if first != mail:
            raise SignatureRejected(Reason.SIGNATURE_USED)


SCHEME: Final = Scheme(
    proves=Proves.SENDER,
    verifier=lambda held, source: MailgunVerifier(held.secrets, max_age_s=source.max_age_s),
)


def _payload(headers: Headers, body: bytes) -> Payload:
    try:
        return payload_of(body, kind_of(headers, MAILGUN.takes), _FIELDS)
    except TurnedAway as error:
        raise SignatureRejected(error.reason) from error


def _one(payload: Payload, name: str) -> bytes:
    """What is signed under this name: a field, or in JSON a member of `signature`."""
    text = _text(payload, ("signature", name)) or _text(payload, (name,))
    if not text:
        raise SignatureRejected(Reason.SIGNATURE_MISSING)
    if len(text) > MAX_TOKEN_BYTES or not text.isascii():
        raise SignatureRejected(Reason.SIGNATURE_MALFORMED)
    return text.encode()


def _text(payload: Payload, place: Place) -> str | None:
    try:
        return payload.text([place])
    except TurnedAway as error:
        raise SignatureRejected(error.reason) from error


def _mail(payload: Payload) -> bytes:
    return sha256(framed(*(_text(payload, place) or "" for place in _MAIL))).digest()
